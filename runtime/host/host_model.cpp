// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_model.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/ops/merge_ops.hpp"

namespace hearsay::runtime {

kernels::MergeStats HostModel::measure(const merge::Snapshot& in, const merge::Snapshot* base) {
  const auto base_span = base != nullptr ? base->span() : std::span<const float>{};
  return kernels::merge_stats(trainer_.read_weights(), in.span(), base_span, mark_.span());
}

void HostModel::blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) {
  const auto base_span = base != nullptr ? base->span() : std::span<const float>{};
  kernels::merge_blend(static_cast<float>(alpha), trainer_.weights(), in.span(), base_span,
                       mark_.span());
}

void HostModel::begin_block() {
  if (!track_blocks_) return;
  const auto weights = trainer_.read_weights();
  if (mark_.size() == 0) mark_ = kernels::Buffer<float>(weights.size());
  std::copy(weights.begin(), weights.end(), mark_.data());
}

double HostModel::block_displacement() {
  if (mark_.size() == 0) return 0.0;
  return std::sqrt(kernels::squared_distance(trainer_.read_weights(), mark_.span()));
}

}  // namespace hearsay::runtime
