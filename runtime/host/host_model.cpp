// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/core/digest.hpp"
#include "kernels/core/tile_tree.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kMostDigestShare = 100;         // one part in so many
constexpr std::size_t kLeastShared = 65'536;  // values; fewer are done before a thread has woken
constexpr std::size_t kMostUntaken = 256;     // where nobody takes them, as in simulations

}  // namespace

HostModel::HostModel(Trainer& trainer, SnapshotPool& pool, std::size_t worker, bool track_blocks)
    : trainer_(trainer),
      pool_(pool),
      size_(trainer.read_weights().size()),
      worker_(worker),
      track_blocks_(track_blocks) {}

kernels::Workers& HostModel::workers() {
  return lent_ != nullptr && size_ >= kLeastShared ? *lent_ : alone_;
}

kernels::MergeStats HostModel::measure(const merge::Snapshot& in, const merge::Snapshot* base) {
  const auto base_span = base != nullptr ? base->span() : std::span<const float>{};
  return kernels::merge_stats(trainer_.read_weights(), in.span(), base_span, mark_.span(),
                              workers());
}

void HostModel::blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) {
  const auto base_span = base != nullptr ? base->span() : std::span<const float>{};
  const std::span<float> own = trainer_.weights(), mark = mark_.span();
  const auto part = [](auto all, std::size_t begin, std::size_t end) {
    return all.empty() ? all : all.subspan(begin, end - begin);
  };
  kernels::for_tiles(workers(), own.size(), kernels::kTileValues,
                     [&](std::size_t begin, std::size_t end, std::size_t) {
                       kernels::merge_blend(static_cast<float>(alpha), part(own, begin, end),
                                            part(in.span(), begin, end),
                                            part(base_span, begin, end), part(mark, begin, end));
                     });
}

void HostModel::adopt(const merge::Snapshot& in, std::uint64_t steps) {
  std::copy(in.span().begin(), in.span().end(), trainer_.weights().begin());
  mark_ = {};
  trainer_.skip_to(steps);
}

gossip::Probe HostModel::probe(const merge::Snapshot* other) {
  return trainer_.probe(other != nullptr ? other->span() : trainer_.read_weights(), worker_);
}

std::vector<double> HostModel::probe_losses(const gossip::Blend* tried) {
  const std::span<const float> own = trainer_.read_weights();
  if (tried == nullptr) return trainer_.probe_losses(own, worker_);
  const auto merged = pool_.blank(own.size());
  std::copy(own.begin(), own.end(), merged->values.data());
  const auto base = tried->base != nullptr ? tried->base->span() : std::span<const float>{};
  kernels::merge_blend(static_cast<float>(tried->alpha), merged->values.span(), tried->in.span(),
                       base, {});
  return trainer_.probe_losses(merged->span(), worker_);
}

merge::SnapshotRef HostModel::crowd_center(const merge::CrowdRule& rule,
                                           std::span<const merge::SnapshotRef> models) {
  const auto center = pool_.blank(size_);
  merge::crowd_center(rule, trainer_.read_weights(), models, center->values.span());
  return center;
}

std::string HostModel::digest() {
  using Clock = std::chrono::steady_clock;
  if (digests_ == DigestMode::off) return {};
  const Clock::time_point begin = Clock::now();
  if (digests_since_ == Clock::time_point{}) digests_since_ = begin;
  if (digests_ == DigestMode::automatic &&
      kMostDigestShare * digests_took_ > begin - digests_since_)
    return {};
  kernels::DigestBuilder builder;
  builder.add(trainer_.read_weights());
  if (tiles_.size() == kMostUntaken) tiles_.pop_front();
  tiles_.push_back(builder.tiles());
  std::string text = builder.finish().hex();
  digests_took_ += Clock::now() - begin;
  return text;
}

std::vector<std::uint64_t> HostModel::take_tiles() {
  if (tiles_.empty()) return {};
  std::vector<std::uint64_t> oldest = std::move(tiles_.front());
  tiles_.pop_front();
  return oldest;
}

void HostModel::begin_block() {
  if (!track_blocks_) return;
  const auto weights = trainer_.read_weights();
  if (mark_.size() == 0) mark_ = kernels::Buffer<float>(weights.size());
  kernels::for_tiles(workers(), weights.size(), kernels::kTileValues,
                     [&](std::size_t begin, std::size_t end, std::size_t) {
                       std::copy_n(weights.data() + begin, end - begin, mark_.data() + begin);
                     });
}

double HostModel::block_displacement() {
  if (mark_.size() == 0) return 0.0;
  return std::sqrt(kernels::squared_distance(trainer_.read_weights(), mark_.span(), workers()));
}

}  // namespace hearsay::runtime
