// SPDX-License-Identifier: Apache-2.0
// Weights chosen by a moving average of what they do from message to message, named by their
// positions; x = w - published is what has not been said, A = beta A + (1 - beta) |u|.
//   literal    u = x. All with x >= the threshold over which the budget's share of A lies: the rule
//              as a note had it, with the sign of x (what falls is never said) and a threshold of A
//              that is held against x, so that the share misses its target.
//   corrected  u = x. As many as the budget has, by A itself. What has just been said keeps its A
//              for 1 / (1 - beta) messages and is said again, unless nothing has changed.
//   score      u = w - w at the last message. By |x| A: what a receiver's loss changes by to first
//              order, since with SGD A is the gradient's magnitude times a learning rate that all
//              weights share (|g delta|: Molchanov et al. 2019, arXiv 1906.10771, equation 8).
//              Merges move weights as well, and count in A.
// A correction of A for its beginning at 0 would multiply all of it alike, and change no choice by
// rank. A is brought up to date by messages that choose, not by answers. Weights that are not
// finite are not chosen. Compute lane of one peer. Cost: 12 B a weight a pass
// (kernels/ops/moving_average_ops.hpp), selection; 4 B a weight of memory, score 8; 4 B of work
// space.
#pragma once

#include "gossip/codec/budget.hpp"
#include "gossip/codec/entry_support.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

struct AverageRule {
  enum class Kind { corrected, literal, score };
  Kind kind = Kind::corrected;
  double beta = 0.9;  // memory, in [0, 1)

  // The note's factor 0.9 stands before the new value.
  static double usual_beta(Kind kind) { return kind == Kind::literal ? 0.1 : 0.9; }
};

class AverageSupport final : public EntrySupport {
 public:
  AverageSupport(AverageRule rule, Budget budget, const Places& places, std::size_t most);

  void keep(double share) override { budget_.keep(share); }
  void forget() override;
  void state(Archive& archive) override;

 private:
  void pick(std::span<const float> weights, std::span<float> published,
            std::vector<std::uint32_t>& at) override;
  void count_in(std::span<const float> u);
  void score(std::span<const float> weights, std::span<const float> published,
             std::span<float> rank);

  AverageRule rule_;
  Budget budget_;
  kernels::Buffer<float> average_;  // [weights]; 0 in small tensors
  kernels::Buffer<float> last_;     // [weights] at the last message; score only
  bool has_last_ = false;
  float threshold_ = 0.0f;  // of the last message; 0: none yet
};

}  // namespace hearsay::gossip
