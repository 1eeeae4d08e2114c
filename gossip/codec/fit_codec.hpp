// SPDX-License-Identifier: Apache-2.0
// As many bits a value as the distance between partners asks for: `+auto`. While peers are far
// apart, two bits say nearly all that a merge needs to know; when they come near each other, as
// learning rates fall, what rounding adds would outweigh what the merge evens out, and more bits
// are spoken. Both are measured: how far messages are from the weights that they speak of, and from
// the receiver's. Compute lane of one peer.
#pragma once

#include <array>
#include <utility>

#include "gossip/codec/choice_codec.hpp"

namespace hearsay::gossip {

// Which rung, by noise and distance: pure arithmetic.
class Fit {
 public:
  static constexpr std::size_t kRungs = 4;  // lloyd2, lloyd3, int4, int8
  // Mean squared error in that of lloyd2, for normal values (lloyd.hpp; a step of int4 is a seventh
  // of the largest of a block, of int8 a 127th).
  static constexpr std::array<double, kRungs> kNoise{1.0, 0.29, 0.13, 0.0004};
  static constexpr double kMostGrowth = 1e4;  // of a squared distance, from a message to the next
  static constexpr unsigned kCalm = 3;        // messages that must say so, one after the other

  // `noise`: over distance, what is too much; goes on to more bits. Half of it with fewer bits is
  // little: goes back to them.
  explicit Fit(double noise) : most_(noise) {}

  void said(std::size_t rung, double mean_square_error);
  // A partner's message is this far from the own weights, a mean square over what it speaks of.
  // True when the rung has changed.
  bool heard(double mean_square_distance);
  std::size_t rung() const { return rung_; }
  void state(Archive& archive);

 private:
  double most_;
  std::size_t rung_ = 0;
  double noise_ = 0.0;     // of lloyd2, from the newest message; 0: nothing said
  double distance_ = 0.0;  // smoothed; 0: nothing heard
  unsigned calm_ = 0;
};

class FitCodec final : public ChoiceCodec {
 public:
  FitCodec(const std::vector<Rung>& rungs, kernels::PeerId self, double noise)
      : ChoiceCodec(rungs, self), fit_(noise) {}
  bool looks() const override { return true; }
  void said(double mean_square_error) override { fit_.said(spoken_rung(), mean_square_error); }
  std::optional<CodecChange> heard(double mean_square_distance) override;
  void state(Archive& archive) override;

 private:
  std::size_t rung() const override { return fit_.rung(); }

  Fit fit_;
};

class FitPlan final : public ChoicePlan {
 public:
  FitPlan(std::string text, std::vector<ChoiceCodec::Rung> rungs, double noise)
      : ChoicePlan(std::move(text), std::move(rungs)), noise_(noise) {}
  std::unique_ptr<Codec> make(kernels::PeerId self) const override {
    return std::make_unique<FitCodec>(rungs(), self, noise_);
  }

 private:
  double noise_;
};

}  // namespace hearsay::gossip
