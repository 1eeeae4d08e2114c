// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/fit_codec.hpp"

#include <cmath>

namespace hearsay::gossip {
namespace {

bool is_usable(double x) { return std::isfinite(x) && x > 0.0; }

}  // namespace

void Fit::said(std::size_t rung, double mean_square_error) {
  if (rung < kRungs && is_usable(mean_square_error)) noise_ = mean_square_error / kNoise[rung];
}

bool Fit::heard(double mean_square_distance) {
  if (!is_usable(mean_square_distance)) return false;
  // No pool moves apart that fast: such weights are refused, and are no reason for fewer bits.
  if (distance_ > 0.0 && mean_square_distance > kMostGrowth * distance_) return false;
  distance_ = distance_ == 0.0 ? mean_square_distance : 0.5 * (distance_ + mean_square_distance);
  const std::size_t before = rung_;
  while (rung_ + 1 < kRungs && noise_ * kNoise[rung_] > most_ * distance_) ++rung_;
  const bool has_too_many = rung_ > 0 && noise_ * kNoise[rung_ - 1] < 0.5 * most_ * distance_;
  calm_ = has_too_many && rung_ == before ? calm_ + 1 : 0;
  if (calm_ >= kCalm) {
    --rung_;
    calm_ = 0;
  }
  return rung_ != before;
}

void Fit::state(Archive& archive) {
  archive("rung", rung_)("noise", noise_)("distance", distance_)("calm", calm_);
  if (rung_ >= kRungs) archive.fail("rung", "does not exist");
  if (!(std::isfinite(noise_) && noise_ >= 0.0)) archive.fail("noise", "is out of range");
  if (!(std::isfinite(distance_) && distance_ >= 0.0)) archive.fail("distance", "is out of range");
}

std::optional<CodecChange> FitCodec::heard(double mean_square_distance) {
  const std::size_t before = fit_.rung();
  if (!fit_.heard(mean_square_distance)) return std::nullopt;
  return CodecChange{text_of(before), text_of(fit_.rung())};
}

void FitCodec::state(Archive& archive) {
  archive("fit", fit_);
  ChoiceCodec::state(archive);
}

}  // namespace hearsay::gossip
