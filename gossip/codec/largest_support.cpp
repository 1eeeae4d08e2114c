// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/largest_support.hpp"

#include <algorithm>
#include <cmath>

#include "gossip/codec/entry_records.hpp"
#include "kernels/core/workers.hpp"
#include "kernels/ops/select_ops.hpp"

namespace hearsay::gossip {
namespace {

constexpr double kGain = 0.5;  // of the threshold's controller

// The selection writes weights only when it is told to clear them, which it is not here.
kernels::SelectFrom selection(std::span<const float> weights, std::span<float> published) {
  return {.w = {const_cast<float*>(weights.data()), weights.size()},
          .published = published,
          .kind = kernels::PublishKind::kAbsolute};
}

}  // namespace

std::size_t share_of(double share, std::size_t n) {
  if (n == 0) return 0;
  const auto near = static_cast<std::size_t>(std::llround(share * static_cast<double>(n)));
  return std::clamp<std::size_t>(near, 1, n);
}

LargestSupport::LargestSupport(Kind kind, double share, const Places& places)
    : kind_(kind),
      places_(places),
      target_(share_of(share, places.large_count())),
      most_(kind == Kind::exact ? target_ : std::min(2 * target_, places.large_count())),
      index_(most_),
      value_(most_) {}

void LargestSupport::choose(std::span<const float> weights, std::span<float> published,
                            PackedBytes& where, std::vector<std::uint32_t>& at) {
  std::size_t count = 0;
  if (target_ > 0) {
    constexpr std::size_t kTile = kernels::kSelectWireTile;
    tile_begin_.resize((weights.size() + kTile - 1) / kTile + 1);
    if (kind_ == Kind::threshold) {
      count = above_threshold(weights, published);
    } else {
      kernels::OneWorker worker;
      count = kernels::select_largest(worker, selection(weights, published), target_, 0,
                                      {index_, value_, tile_begin_})
                  .count;
    }
  }
  at.assign(index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(count));
  places_.to_numbers(at);
  put_entries(where, at, places_.large_count());
}

// A remembered threshold above which nothing lies is replaced at once, so that no message is empty
// while there is something to say.
std::size_t LargestSupport::above_threshold(std::span<const float> weights,
                                            std::span<float> published) {
  kernels::OneWorker worker;
  const kernels::SelectFrom from = selection(weights, published);
  std::uint64_t found = 0;
  bool is_sampled = false;
  while (found == 0 && !is_sampled) {
    is_sampled = threshold_ == 0.0f;
    if (is_sampled) threshold_ = kernels::sampled_threshold(from, target_);
    found = kernels::select_above(worker, from, threshold_, {index_, value_, tile_begin_}).count;
    const auto next = kernels::next_threshold(threshold_, found, target_, kGain);
    threshold_ = next.is_restart ? 0.0f : next.tau;
  }
  return static_cast<std::size_t>(std::min<std::uint64_t>(found, most_));
}

std::string LargestSupport::read(PackedReader& in, std::vector<std::uint32_t>& at) const {
  return read_entries(in, places_.large_count(), most_, at);
}

std::size_t LargestSupport::most_where_bytes() const {
  return most_entry_bytes(places_.large_count(), most_);
}

void LargestSupport::state(Archive& archive) {
  if (kind_ == Kind::exact) return;
  archive("threshold", threshold_);
  if (!(threshold_ >= 0.0f && std::isfinite(threshold_)))
    archive.fail("threshold", "is no magnitude");
}

}  // namespace hearsay::gossip
