// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace hearsay::runtime {

HostModel::HostModel(Trainer& trainer, SnapshotPool& pool, std::size_t worker, bool track_blocks)
    : trainer_(trainer), pool_(pool), worker_(worker), track_blocks_(track_blocks) {}

kernels::MergeStats HostModel::measure(const merge::Snapshot& in, const merge::Snapshot* base) {
  const auto base_span = base != nullptr ? base->span() : std::span<const float>{};
  return kernels::merge_stats(trainer_.weights(), in.span(), base_span, mark_.span());
}

void HostModel::blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) {
  const auto base_span = base != nullptr ? base->span() : std::span<const float>{};
  kernels::merge_blend(static_cast<float>(alpha), trainer_.weights(), in.span(), base_span,
                       mark_.span());
}

void HostModel::adopt(const merge::Snapshot& in, std::uint64_t steps) {
  std::copy(in.span().begin(), in.span().end(), trainer_.weights().begin());
  mark_ = {};
  trainer_.skip_to(steps);
}

gossip::Probe HostModel::probe(const merge::Snapshot* other) {
  return trainer_.probe(
      other != nullptr ? other->span() : std::span<const float>(trainer_.weights()), worker_);
}

gossip::Comparison HostModel::compare(double alpha, const merge::Snapshot& in,
                                      const merge::Snapshot* base) {
  const std::span<const float> own = trainer_.weights();
  const std::vector<double> before = trainer_.probe_losses(own, worker_);
  if (before.empty()) return {};
  const auto merged = pool_.blank(own.size());
  std::copy(own.begin(), own.end(), merged->values.data());
  kernels::merge_blend(static_cast<float>(alpha), merged->values.span(), in.span(),
                       base != nullptr ? base->span() : std::span<const float>{}, {});
  const std::vector<double> after = trainer_.probe_losses(merged->span(), worker_);
  const auto n = static_cast<double>(before.size());
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += after[i] - before[i];
  for (std::size_t i = 0; i < before.size(); ++i)
    squares += std::pow(after[i] - before[i] - sum / n, 2);
  return {sum / n, n > 1.0 ? std::sqrt(squares / (n - 1.0) / n) : 0.0, before.size()};
}

merge::SnapshotRef HostModel::crowd_center(const merge::CrowdRule& rule,
                                           std::span<const merge::SnapshotRef> models) {
  const auto center = pool_.blank(trainer_.weights().size());
  merge::crowd_center(rule, trainer_.weights(), models, center->values.span());
  return center;
}

void HostModel::begin_block() {
  if (!track_blocks_) return;
  const auto weights = trainer_.weights();
  if (mark_.size() == 0) mark_ = kernels::Buffer<float>(weights.size());
  std::copy(weights.begin(), weights.end(), mark_.data());
}

double HostModel::block_displacement() {
  if (mark_.size() == 0) return 0.0;
  return std::sqrt(kernels::squared_distance(trainer_.weights(), mark_.span()));
}

}  // namespace hearsay::runtime
