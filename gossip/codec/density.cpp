// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/density.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hearsay::gossip {
namespace {

// Three significant digits: a share is part of what logs call the codec.
double rounded(double share) {
  const double unit = std::pow(10.0, std::floor(std::log10(share)) - 2.0);
  // Through an integer and a division where the unit is below 1: 0.0125 and not
  // 0.01250000000000001.
  return std::round(share / unit) / std::round(1.0 / unit);
}

// By least squares over 0, 1, 2, ...
double slope_of(const std::vector<double>& values, double mean) {
  const double middle = 0.5 * static_cast<double>(values.size() - 1);
  double both = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    both += x * (values[i] - mean);
    squares += x * x;
  }
  return both / squares;
}

}  // namespace

void Density::move_by(double factor) {
  share_ = rounded(std::clamp(share_ * factor, kLeast, kMost));
}

// A loss that stays up is what the model has now; one that is no number never is.
bool Density::has_diverged(double loss) {
  const bool is_number = std::isfinite(loss);
  if (is_number && !(average_ > 0.0 && loss > kJump * average_)) return false;
  if (!is_number || divergences_ < kDivergences) return true;
  forget();
  return false;
}

Density::News Density::add(double loss) {
  const double before = share_;
  if (has_diverged(loss)) {
    divergences_ = std::min(divergences_ + 1, kDivergences);
    losses_.clear();
    agreed_ = 0;
    move_by(2.0);
    return News::diverged;
  }
  divergences_ = 0;
  average_ = average_ == 0.0 ? loss : kMemory * average_ + (1.0 - kMemory) * loss;
  if (losses_.size() == kSlope) losses_.erase(losses_.begin());
  losses_.push_back(loss);
  if (losses_.size() < kSlope) return News::nothing;
  const double mean =
      std::accumulate(losses_.begin(), losses_.end(), 0.0) / static_cast<double>(kSlope);
  if (!(mean > 0.0)) return News::nothing;
  const double z = -slope_of(losses_, mean) / mean;
  const int direction = z < rule_.slow ? 1 : z > rule_.fast ? -1 : 0;
  agreed_ = direction == 0 ? 0 : direction == direction_ ? agreed_ + 1 : 1;
  direction_ = direction;
  if (agreed_ < kCalm) return News::nothing;
  agreed_ = 0;
  move_by(direction > 0 ? kRaise : kLower);
  return share_ != before ? News::changed : News::nothing;
}

void Density::forget() {
  losses_.clear();
  average_ = 0.0;
  direction_ = 0;
  agreed_ = divergences_ = 0;
}

void Density::state(Archive& archive) {
  archive("share", share_)("losses", losses_)("average", average_);
  archive("direction", direction_)("agreed", agreed_)("divergences", divergences_);
  const auto is_loss = [](double x) { return std::isfinite(x) && x >= 0.0; };
  if (!(share_ >= kLeast && share_ <= kMost)) archive.fail("share", "is out of range");
  if (losses_.size() > kSlope || !std::all_of(losses_.begin(), losses_.end(), is_loss))
    archive.fail("losses", "are none, or too many");
  if (!is_loss(average_)) archive.fail("average", "is out of range");
}

}  // namespace hearsay::gossip
