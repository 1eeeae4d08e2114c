// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearsay::gossip {

float Smoothing::next(std::uint32_t offset, float w) {
  if (!std::isfinite(w)) return w;
  const auto b = static_cast<float>(rule_.gain);
  float& y = y_.data()[offset];
  return y = b * w + (1.0f - b) * y;  // between the two: never overflows
}

void Smoothing::add_tails(std::span<const float> entered, std::span<const std::uint32_t> small,
                          double levels, std::vector<std::uint32_t>& at) const {
  const float* const y = y_.data();
  std::vector<float> gap(entered.size());
  for (std::size_t i = 0; i < gap.size(); ++i) gap[i] = std::fabs(entered[i] - y[i]);
  for (const std::uint32_t i : small) gap[i] = 0.0f;
  const float most = gap.empty() ? 0.0f : *std::max_element(gap.begin(), gap.end());
  if (!(most > 0.0f)) return;
  // What is at rest is never said, however small the largest move is.
  const float least =
      std::max(most / static_cast<float>(2.0 * levels), std::numeric_limits<float>::denorm_min());
  std::vector<std::uint32_t> all;
  auto chosen = at.begin();
  for (std::uint32_t i = 0; i < gap.size(); ++i) {
    const bool is_chosen = chosen != at.end() && *chosen == i;
    if (is_chosen) ++chosen;
    if (is_chosen || gap[i] >= least) all.push_back(i);
  }
  at = std::move(all);
}

void Smoothing::forget(std::span<const float> start) {
  std::copy(start.begin(), start.end(), y_.data());
}

void Smoothing::state(Archive& archive) {
  const std::size_t size = y_.size();
  archive.array("y", y_);
  if (y_.size() != size) archive.fail("y", "is of another model");
}

}  // namespace hearsay::gossip
