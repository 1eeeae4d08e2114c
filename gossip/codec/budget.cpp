// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/budget.hpp"

#include <algorithm>

#include "gossip/codec/support.hpp"
#include "kernels/core/workers.hpp"

namespace hearsay::gossip {
namespace {

std::span<float> part_of(std::span<float> all, std::size_t offset, std::size_t count) {
  return all.empty() ? all : all.subspan(offset, count);
}

}  // namespace

Budget::Budget(double share, bool is_per_tensor, const Places& places)
    : is_per_tensor_(is_per_tensor) {
  if (is_per_tensor) {
    for (const Places::Tensor& each : places.tensors())
      parts_.push_back({each.offset, each.count, each.count, 0});
  } else if (places.large_count() > 0) {
    parts_.push_back({0, places.size(), places.large_count(), 0});
  }
  keep(share);
}

void Budget::keep(double share) {
  entries_ = 0;
  for (Part& part : parts_) {
    part.entries = share_of(share, part.candidates);
    if (is_per_tensor_) part.entries = std::max(part.entries, kLeastOfTensor);
    entries_ += part.entries;
  }
}

void Budget::largest(const kernels::SelectFrom& from, std::vector<std::uint32_t>& at) {
  kernels::OneWorker worker;
  for (const Part& part : parts_) {
    constexpr std::size_t kTile = kernels::kSelectWireTile;
    kernels::SelectFrom here = from;
    here.w = part_of(from.w, part.offset, part.count);
    here.published = part_of(from.published, part.offset, part.count);
    const std::size_t begin = at.size();
    at.resize(begin + part.entries);
    value_.resize(part.entries);
    tile_begin_.resize((part.count + kTile - 1) / kTile + 1);
    const std::span<std::uint32_t> index = std::span(at).subspan(begin);
    const auto found = static_cast<std::size_t>(
        kernels::select_largest(worker, here, part.entries, 0, {index, value_, tile_begin_}).count);
    for (std::uint32_t& each : index.first(found)) each += static_cast<std::uint32_t>(part.offset);
    at.resize(begin + found);
  }
}

}  // namespace hearsay::gossip
