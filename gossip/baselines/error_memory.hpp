// SPDX-License-Identifier: Apache-2.0
// What a codec has left unsaid of gradients or of what a round of training did, and how it is said
// later. C(p) is what the message of p says.
//   none  p = x; what is left out is lost
//   ef    p = x + e; e = p - C(p)  (Seide 2014; Karimireddy 2019, arXiv 1901.09847)
//   ef21  p = x - g; g = g + C(p), and the pool adds up the g of all (Richtarik 2021, arXiv
//         2106.05203)
//   dgc   u = mu u + x, v = v + u, p = v; v = p - C(p), and u = 0 where something was said: the
//         momentum comes before the choice (Lin 2018, arXiv 1712.01887, "momentum correction" and
//         "factor masking"). x is clipped first, to the optimiser's norm times the root of the
//         pool's size.
// A message counts from keep() on: a round that was cut off is begun again as if it had never been.
// Compute lane of one peer. Cost: three buffers of the model's size (dgc: five), a pass over each.
#pragma once

#include <cstdint>
#include <span>

#include "gossip/archive.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

struct FeedbackSettings {
  enum class Kind : std::uint8_t { none, ef, ef21, dgc };
  Kind kind = Kind::ef;
  double momentum = 0.0;  // dgc: mu
  double clip = 0.0;      // dgc: largest norm of the pool's mean; 0: any
};

class ErrorMemory {
 public:
  ErrorMemory(const FeedbackSettings& settings, std::uint32_t peers)
      : settings_(settings), peers_(peers) {}

  // p [weights], until the next call. `x` is `weight` times a mean (of as many examples).
  std::span<const float> to_say(std::span<const float> x, double weight);
  // What the message of p says [weights], 0 where it says nothing.
  void said(std::span<const float> c);
  void keep();  // the round is over, and everybody has heard it

  // Whether messages say how something has changed that the pool adds up: of ef21.
  bool says_changes() const { return settings_.kind == FeedbackSettings::Kind::ef21; }
  // What has not been said [weights]; of ef21: what has. Empty before the first round.
  std::span<const float> memory() const { return memory_.span(); }
  void state(Archive& archive);

 private:
  float clipped(std::span<const float> x, double weight) const;  // factor of x

  FeedbackSettings settings_;
  std::uint32_t peers_;
  kernels::Buffer<float> p_, memory_, momentum_;  // e, g or v; u
  kernels::Buffer<float> next_memory_, next_momentum_;
};

}  // namespace hearsay::gossip
