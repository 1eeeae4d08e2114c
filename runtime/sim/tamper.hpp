// SPDX-License-Identifier: Apache-2.0
// What a hostile peer makes of the weights that it sends; its own training goes on as before. For
// tests of merge rules, in simulations and live pools (--chaos). `start`: its weights when the
// attack began; s: its strength.
//   nan           one value in a thousand is not a number
//   scale         s w                                       s = 1e6
//   sign-flip     start - s (w - start)                     s = 1
//   noise         w + s rms(w) N(0, 1)                      s = 1
//   replay-stale  start, for ever, as if it were new
//   drift         w + s |w| d, one direction d for ever     s = 0.05
// Cost: a pass over the weights and a copy of them a message.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gossip/frame.hpp"
#include "gossip/local_model.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::runtime {

enum class Attack : std::uint8_t { nan, scale, sign_flip, noise, replay_stale, drift };

// By their names above; nullopt: no attack is called so.
std::optional<Attack> find_attack(const std::string& name);
std::string name_of(Attack attack);
double usual_strength(Attack attack);

// One weight in the middle becomes NaN.
void poison(std::span<float> weights);

class Tamper {
 public:
  Tamper(std::uint64_t seed, kernels::PeerId peer);

  void begin(Attack attack, double strength, merge::SnapshotRef weights);
  void end() { attack_.reset(); }
  bool active() const noexcept { return attack_.has_value(); }
  // The frame's weights become what is sent instead. Frames without weights stay as they are.
  void apply(gossip::Frame& frame, gossip::LocalModel& model);
  void state(gossip::Archive& archive);  // to load: into one of the same seed and peer

 private:
  std::vector<float> altered(std::span<const float> honest);

  std::optional<Attack> attack_;
  double strength_ = 0.0;
  merge::SnapshotRef start_;
  kernels::Rng rng_, direction_;
};

}  // namespace hearsay::runtime
