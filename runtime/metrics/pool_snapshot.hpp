// SPDX-License-Identifier: Apache-2.0
// A live pool at one instant, as the metrics endpoint tells it and `hearsay watch` shows it. Plain
// data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/launch/pool_display.hpp"

namespace hearsay::runtime {

struct PoolSnapshot {
  std::string run;              // its name; empty before the run directory is there
  std::uint32_t min_peers = 1;  // fewer live ones are no healthy pool
  PoolNow now;
  std::vector<PeerView> peers;  // all of the pool, or the one that was started by hand
};

}  // namespace hearsay::runtime
