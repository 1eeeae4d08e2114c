// SPDX-License-Identifier: Apache-2.0
// Temporal reachability: how long until something of every peer has reached every other one, again
// and again over a run. Lane: any. Cost: one pass; a bit a peer and node.
#pragma once

#include <vector>

#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

struct Spread;  // mixing.hpp

// Nodes by the pool's clock; causes still come before their effects among equal times.
std::vector<MergeGraph::Index> in_time_order(const MergeGraph& graph);

std::vector<Spread> find_spreads(const MergeGraph& graph,
                                 const std::vector<MergeGraph::Index>& order);

}  // namespace hearsay::runtime
