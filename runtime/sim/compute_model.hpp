// SPDX-License-Identifier: Apache-2.0
// How long a mini-batch takes in virtual time: a base time, a slowness per peer, and optional
// jitter and pauses (a machine that does something else for a while).
#pragma once

#include <cstdint>
#include <vector>

#include "gossip/protocol.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct ComputeOptions {
  enum class Kind { fixed, jitter } kind = Kind::fixed;
  gossip::Time step = std::chrono::milliseconds(1);
  double cv = 0.0;  // coefficient of variation of a mini-batch's time (log-normal)
  double straggler_share = 0.0, straggler_factor = 1.0;  // of the peers; times the time
  double pause_share = 0.0;                              // of the mini-batches
  gossip::Time pause{0};                                 // mean of an exponential distribution
};
// `fixed[:5ms]` (1 ms), `jitter:cv=0.2[,step=1ms]`; both with `stragglers=10%*4,pause=1%*50ms`.
// Throws UsageError.
ComputeOptions parse_compute(const Spec& spec);

class ComputeModel {
 public:
  // Stragglers are drawn from Rng::stream(seed, "stragglers").
  ComputeModel(const ComputeOptions& options, std::uint32_t peers, std::uint64_t seed);
  void slow_down(kernels::PeerId peer, double factor) { slowness_[peer.value] *= factor; }
  gossip::Time step_time(kernels::PeerId peer);
  void state(gossip::Archive& archive);

 private:
  ComputeOptions options_;
  std::vector<double> slowness_;
  std::vector<kernels::Rng> rng_;  // one stream a peer: a draw for one never shifts another
};

}  // namespace hearsay::runtime
