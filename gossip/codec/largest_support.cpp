// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/largest_support.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/workers.hpp"

namespace hearsay::gossip {
namespace {

constexpr double kGain = 0.5;  // of the threshold's controller

}  // namespace

std::size_t share_of(double share, std::size_t n) {
  if (n == 0) return 0;
  const auto near = static_cast<std::size_t>(std::llround(share * static_cast<double>(n)));
  return std::clamp<std::size_t>(near, 1, n);
}

void LargestSupport::pick(std::span<const float> weights, std::span<float> published,
                          std::vector<std::uint32_t>& at) {
  if (budget_.entries() == 0) return;
  // The selection writes weights only when it is told to clear them, which it is not here.
  const kernels::SelectFrom from{.w = {const_cast<float*>(weights.data()), weights.size()},
                                 .published = published,
                                 .kind = kernels::PublishKind::kAbsolute};
  if (kind_ == Kind::exact) return budget_.largest(from, at);
  above_threshold(from, at);
}

// A remembered threshold above which nothing lies is replaced at once, so that no message is empty
// while there is something to say.
void LargestSupport::above_threshold(const kernels::SelectFrom& from,
                                     std::vector<std::uint32_t>& at) {
  constexpr std::size_t kTile = kernels::kSelectWireTile;
  const std::size_t target = budget_.entries();
  const std::size_t most = std::min(2 * target, most_entries());
  at.resize(most);
  value_.resize(most);
  tile_begin_.resize((from.w.size() + kTile - 1) / kTile + 1);
  kernels::OneWorker worker;
  std::uint64_t found = 0;
  bool is_sampled = false;
  while (found == 0 && !is_sampled) {
    is_sampled = threshold_ == 0.0f;
    if (is_sampled) threshold_ = kernels::sampled_threshold(from, target);
    found = kernels::select_above(worker, from, threshold_, {at, value_, tile_begin_}).count;
    const auto next = kernels::next_threshold(threshold_, found, target, kGain);
    threshold_ = next.is_restart ? 0.0f : next.tau;
  }
  at.resize(static_cast<std::size_t>(std::min<std::uint64_t>(found, most)));
}

void LargestSupport::state(Archive& archive) {
  if (kind_ == Kind::exact) return;
  archive("threshold", threshold_);
  if (!(threshold_ >= 0.0f && std::isfinite(threshold_)))
    archive.fail("threshold", "is no magnitude");
}

}  // namespace hearsay::gossip
