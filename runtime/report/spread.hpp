// SPDX-License-Identifier: Apache-2.0
// Who has heard of whom: a peer knows of itself, and after a merge of all that its partner knew
// when the model was sent. Invariant: knowledge only grows. Pure; any lane. Cost: a bit set of the
// pool a model on its way.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

struct Spread {
  std::size_t reached = 0;            // ordered pairs (of whom, by whom), without a peer's own
  std::size_t pairs = 0;              // all of them
  std::optional<double> complete_s;   // when the last pair was reached
  std::size_t merges_until_then = 0;  // in the pool
};
Spread spread_of(const RunFacts& facts);

struct PairTraffic {
  PeerIndex from = 0, to = 0;
  std::size_t merges = 0, refused = 0;
  double bytes = 0.0, alpha_sum = 0.0;
};
std::vector<PairTraffic> traffic_by_pair(const RunFacts& facts);  // busiest first

}  // namespace hearsay::runtime::report
