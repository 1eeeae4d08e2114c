// SPDX-License-Identifier: Apache-2.0
// Quantisation momentum, `+qm`: what is said of a weight goes part of the way towards it,
//   y = b w + (1 - b) y,
// the sum of the low-pass filter q = b m + (1 - b) q over what changed, m: all of it arrives, late
// by (1 - b) / b messages. By mode:
//   ef          y is what partners hold, rounding included; what the filter and rounding leave is
//               left to say, and is chosen by its size like anything else.
//   on_support  a weight counts as said once it has entered the filter: until training moves it
//               again nothing chooses it, and what is on its way waits. y is kept unrounded.
//   literal     the same, and what is on its way is said in the next messages whatever they
//               choose, until it is below half a level of the largest: supports grow.
// Weights and y are finite. Compute lane of one peer. Cost: 4 B a weight of memory; literal one
// more pass a message over weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gossip/archive.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

struct SmoothingRule {
  enum class Mode { none, ef, on_support, literal };
  Mode mode = Mode::none;
  double gain = 0.7;  // b, in (0, 1)
};

class Smoothing {
 public:
  Smoothing(const SmoothingRule& rule, std::size_t weights) : rule_(rule), y_(weights) {}

  // What counts as said of a weight is what has entered the filter, and not what is decoded.
  bool counts_entered() const {
    return rule_.mode == SmoothingRule::Mode::on_support ||
           rule_.mode == SmoothingRule::Mode::literal;
  }
  bool has_tails() const { return rule_.mode == SmoothingRule::Mode::literal; }

  // The filter's next value at this offset, on its way to w; not finite where w is not.
  float next(std::uint32_t offset, float w);
  // What is decoded there is where the filter goes on from.
  void reset(std::uint32_t offset, float decoded) { y_.data()[offset] = decoded; }

  // Adds to the ascending offsets `at` those whose next move towards `entered` is half a level of
  // the largest move or more. `small`: ascending, never added. `levels`: of a value, on one side.
  void add_tails(std::span<const float> entered, std::span<const std::uint32_t> small,
                 double levels, std::vector<std::uint32_t>& at) const;

  void forget(std::span<const float> start);
  void state(Archive& archive);

 private:
  SmoothingRule rule_;
  kernels::Buffer<float> y_;  // [weights]
};

}  // namespace hearsay::gossip
