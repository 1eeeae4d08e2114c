// SPDX-License-Identifier: Apache-2.0
// Outer optimisers: beside the weights w that it trains, a peer keeps slow weights and their
// momentum. What a block of training did (delta = w - slow) is a step that the outer optimiser
// takes in its own way; then w goes on from the slow weights.
//   nesterov  after each block, of the peer's own delta alone (SNOO, Kallusky 2025, arXiv
//             2510.15830; DiLoCo's rule, Douillard 2023, arXiv 2311.08105):
//                m = mu m + delta;  slow += lr (delta + mu m)
//             Merges move w and slow weights alike.
//   noloco    at each merge, of both partners' deltas (Kolehmainen 2025, arXiv 2506.10911, groups
//   of
//             two; the bar is the mean over the two):
//                m = mu m + a delta-bar + gamma (slow-bar - slow);  slow += m
//             Both terms are linear in what the partner has, so one model says them together,
//                v = slow + (a / gamma) delta:   m = mu m + a delta + gamma alpha (v_in - v),
//             with alpha = 1/2 for the mean: half of the bytes. With a = gamma v is w.
//   delayed   at each merge a step without momentum, at every n-th the momentum of all of them (Liu
//             2024, arXiv 2401.09135, algorithm 3; its g / N, a worker's share of the mean, is here
//             g = delta + alpha (w_in - w)):
//                buffer += g;  m as it is, slow += lr (g + c mu m)
//                every n-th: m = mu m + buffer, slow += lr (g + (1 - c n + c) mu m), buffer = 0
// Differences v_in - v count from what was said (packing.hpp), so that where both sides move by the
// same alpha the mean of slow weights is moved by deltas and momentum alone.
// The momentum begins again from 0 where its norm is over 10 times the largest recent delta: that
// of small groups can grow for ever.
// Invariant: state is empty, or of the model's size. Compute lane of one peer. Cost: 8 B a weight
// of memory (12 delayed); 40 B a weight a step in host memory, wherever the peer trains.
#pragma once

#include <cstdint>
#include <optional>

#include "gossip/archive.hpp"
#include "gossip/local_model.hpp"
#include "kernels/core/buffer.hpp"
#include "kernels/ops/outer_ops.hpp"

namespace hearsay::gossip {

struct OuterSettings {
  enum class Kind : std::uint8_t { nesterov, noloco, delayed };
  Kind kind = Kind::noloco;
  double rate = 0.7;         // of nesterov and delayed: lr; of noloco: a
  double gamma = 0.7;        // noloco
  double momentum = 0.5;     // mu, in [0, 1)
  std::uint32_t period = 4;  // delayed: n
  double activation = 0.0;   // delayed: c, in [0, 1 / n]

  // Whether disagreement about slow weights dies out. Of noloco with partners drawn anew each time
  // its mean square contracts just where gamma < 2 (1 - mu^2): the eigenvalues of the second
  // moments of (slow, m) under slow' = slow + m', m' = mu m + gamma (x - slow) / 2, x independent.
  bool contracts() const {
    return kind != Kind::noloco || gamma < 2.0 * (1.0 - momentum * momentum);
  }
};

class OuterOptimizer {
 public:
  // The momentum was found too large, and is 0 again.
  struct Restart {
    double momentum_norm = 0.0, delta_norm = 0.0;
  };

  explicit OuterOptimizer(const OuterSettings& settings) : settings_(settings) {}

  // Slow weights are the own ones from here on, without momentum.
  void begin(LocalModel& model);
  // From here on merges are plain: there is no training any more that a step could be taken with.
  void rest() { resting_ = true; }

  // The model that a partner is told in place of the own weights.
  merge::SnapshotRef to_say(LocalModel& model) const;
  // nesterov's step; of the others nothing.
  std::optional<Restart> block_ended(LocalModel& model);
  // nesterov's step with `reached` in place of the own weights, which become the slow ones.
  std::optional<Restart> step_to(std::span<const float> reached, LocalModel& model);
  // A merge with `in`, towards which this peer moves by alpha (in - base). `base`: what it said of
  // itself; null: what it would say now.
  std::optional<Restart> merge(double alpha, const merge::Snapshot& in, const merge::Snapshot* base,
                               LocalModel& model);

  void state(Archive& a);
  std::span<const float> slow() const { return slow_.span(); }
  std::span<const float> momentum() const { return m_.span(); }

 private:
  bool steps_at_merges() const { return settings_.kind != OuterSettings::Kind::nesterov; }
  double extrapolation() const { return settings_.rate / settings_.gamma; }  // noloco
  std::optional<Restart> step(const kernels::OuterStep& how, std::span<const float> reached,
                              std::span<const float> in, std::span<const float> base,
                              LocalModel& model);
  std::optional<Restart> restart_if_too_large(std::span<const float> weights);
  kernels::OuterStep merge_step(double alpha);

  OuterSettings settings_;
  kernels::Buffer<float> slow_, m_, buffer_;  // [weights]; buffer_ only delayed
  double recent_delta_ = 0.0;                 // the largest norm, a tenth less a step
  std::uint32_t gathered_ = 0;                // steps in buffer_
  bool resting_ = false;
};

}  // namespace hearsay::gossip
