// SPDX-License-Identifier: Apache-2.0
// Puts the nodes of a live pool on one clock: every process counts time from its own start. A model
// cannot be merged before it was sent, so each pair of processes that exchanged models in both
// directions bounds the offset between them; the middle of the narrowest bounds is taken, along a
// spanning tree, and then raised where it would still put a merge before its send.
// Invariant: within a session only a constant is added. Lane: any. Cost: O(edges log edges).
#pragma once

#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

// Adds to t_ns, sent_ns, end_ns and says so in offset_ns; the earliest node comes to stand at 0.
// Sessions that exchanged nothing follow the session of their peer before them, else stay.
void align_clocks(MergeGraph& graph);

}  // namespace hearsay::runtime
