// SPDX-License-Identifier: Apache-2.0
// One time axis for the logs of a live pool. Every process counts from its own start, so a peer
// that was started again begins at 0 anew. What it has sent and received bounds the difference: a
// model arrives after it was sent. Invariant: logs that need no shift get none; a simulation has
// one clock. Lane: any (pure). Cost: one pass over the events, a map of the models sent.
#pragma once

#include <vector>

#include "runtime/report/log_set.hpp"

namespace hearsay::runtime::report {

// Sets offset_ns of every log.
void align_clocks(std::vector<OneLog>& logs);

}  // namespace hearsay::runtime::report
