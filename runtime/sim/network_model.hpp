// SPDX-License-Identifier: Apache-2.0
// When a frame arrives: every peer has one link with a send rate and a latency; frames leave it one
// after the other and never overtake each other between the same two peers. Loss and partitions are
// in faults.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gossip/protocol.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct NetworkOptions {
  double bandwidth_bytes_per_s = 0.0;  // 0 = no limit
  gossip::Time latency{0};
  gossip::Time jitter{0};  // added latency, uniform in 0 .. jitter
};
// `lan` (1 Gb/s, 0.2 ms), `ideal`, `link:bandwidth=1Gb/s,latency=0.2ms,jitter=0ms`. Throws
// UsageError.
NetworkOptions parse_network(const Spec& spec);

class NetworkModel {
 public:
  NetworkModel(const NetworkOptions& options, std::uint32_t peers, std::uint64_t seed);
  gossip::Time arrival(kernels::PeerId from, kernels::PeerId to, std::uint64_t bytes,
                       gossip::Time now);
  void state(gossip::Archive& a) {
    a("link_free", link_free_)("last_arrival", last_arrival_)("rng", rng_);
  }

 private:
  NetworkOptions options_;
  std::vector<gossip::Time> link_free_;  // [peer] when its link has sent all it was given
  std::map<std::pair<std::uint32_t, std::uint32_t>, gossip::Time>
      last_arrival_;  // only with jitter
  kernels::Rng rng_;
};

}  // namespace hearsay::runtime
