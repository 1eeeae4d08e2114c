// SPDX-License-Identifier: Apache-2.0
// Settings that a pool learns while it trains: every peer goes by factors of its own, on the
// learning rate and on alpha, and takes those of peers whose models turn out better (population
// based training, Jaderberg et al. 2017, arXiv 1711.09846, without a leader or generations). When a
// partner asks for a merge, both models are put to the own probe set; the sender's settings are
// copied with a probability in proportion to the gain,
//     p = eager * (own loss - its loss) / own loss, 0 to 1   (models that merge differ by little)
// and every copy is changed by one step, up or down: x 1.2 or / 1.2. So does everybody at the
// start. Settings travel as one number in the `request`, so nothing is longer on the wire.
// Invariant: factors are step^k, |k| <= kMostSteps; all draws are from the peer's own stream.
// Lane: compute, pure; the two passes over the probe set are its caller's. Memory: 100 B.
#pragma once

#include <cstdint>
#include <optional>

#include "gossip/archive.hpp"
#include "gossip/event.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {

// --tune of a pool.
struct TunePlan {
  bool lr = false, alpha = false;  // what is learned
  double step = 1.2;               // of one change; above 1
  double eager = 200.0;            // a gain of half a hundredth is copied for certain
};

class Tuner {
 public:
  static constexpr int kMostSteps = 8;
  struct Choice {
    int lr = 0, alpha = 0;  // steps up, or down
    friend bool operator==(const Choice&, const Choice&) = default;
  };

  Tuner(const TunePlan& plan, std::uint64_t seed, PeerId self);

  const Choice& choice() const noexcept { return choice_; }
  double lr_factor() const { return factor(choice_.lr); }
  double alpha_factor() const { return factor(choice_.alpha); }

  // What a request says: a whole number from 1 on; 0 is none.
  static double code(const Choice& choice);
  static std::optional<Choice> decode(double code);

  // A model came with these settings; losses of both on the own probe set. Draws whatever it finds.
  // True: they were copied, and changed.
  bool meet(const Choice& theirs, double own_loss, double their_loss);
  // "settings.drawn" at the start, "settings.copied" from somebody.
  Event event(std::string_view name) const;

  void state(Archive& archive);

 private:
  double factor(int steps) const;
  void change();

  TunePlan plan_;
  kernels::Rng rng_;
  Choice choice_;
};

}  // namespace hearsay::gossip
