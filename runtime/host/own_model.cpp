// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/own_model.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/digest.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kMostDigestShare = 100;      // one part in so many
constexpr std::size_t kMostUntaken = 256;  // where nobody takes them, as in simulations

}  // namespace

OwnModel::OwnModel(Trainer& trainer, SnapshotPool& pool, std::size_t worker)
    : trainer_(trainer), pool_(pool), size_(trainer.read_weights().size()), worker_(worker) {}

void OwnModel::adopt(const merge::Snapshot& in, std::uint64_t steps) {
  std::copy(in.span().begin(), in.span().end(), trainer_.weights().begin());
  forget_mark();
  trainer_.skip_to(steps);
}

gossip::Probe OwnModel::probe(const merge::Snapshot* other) {
  return trainer_.probe(other != nullptr ? other->span() : trainer_.read_weights(), worker_);
}

std::vector<double> OwnModel::probe_losses(const gossip::Blend* tried) {
  const std::span<const float> own = trainer_.read_weights();
  if (tried == nullptr) return trainer_.probe_losses(own, worker_);
  const auto merged = pool_.blank(own.size());
  std::copy(own.begin(), own.end(), merged->values.data());
  const auto base = tried->base != nullptr ? tried->base->span() : std::span<const float>{};
  kernels::merge_blend(static_cast<float>(tried->alpha), merged->values.span(), tried->in.span(),
                       base, {});
  return trainer_.probe_losses(merged->span(), worker_);
}

merge::SnapshotRef OwnModel::crowd_center(const merge::CrowdRule& rule,
                                          std::span<const merge::SnapshotRef> models) {
  const auto center = pool_.blank(size_);
  merge::crowd_center(rule, trainer_.read_weights(), models, center->values.span());
  return center;
}

std::vector<float> OwnModel::block_sketch(const kernels::SketchPlan& plan) {
  kernels::Buffer<float> room;
  const std::span<const float> start = mark(room);
  if (start.empty()) return {};
  const auto moved = pool_.blank(size_);
  const std::span<const float> now = trainer_.read_weights();
  float* const out = moved->values.data();
  for (std::size_t i = 0; i < size_; ++i) out[i] = now[i] - start[i];
  std::vector<float> sketch(kernels::sketch_values(plan));
  kernels::OneWorker worker;
  kernels::sketch(plan, moved->span(), sketch, worker);
  return sketch;
}

void OwnModel::heard(kernels::PeerId from, const merge::Snapshot& in) {
  if (trainer_.wants_models()) trainer_.heard(from, in.span(), worker_);
}

double OwnModel::doubt(const merge::Snapshot* model) {
  return trainer_.doubt(model != nullptr ? model->span() : trainer_.read_weights(), worker_);
}

std::string OwnModel::digest() {
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

std::vector<std::uint64_t> OwnModel::take_tiles() {
  if (tiles_.empty()) return {};
  std::vector<std::uint64_t> oldest = std::move(tiles_.front());
  tiles_.pop_front();
  return oldest;
}

}  // namespace hearsay::runtime
