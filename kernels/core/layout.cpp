// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/layout.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace hearsay::kernels {

std::size_t Layout::add(std::string name, std::vector<std::size_t> shape) {
  const std::size_t count =
      std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<std::size_t>());
  const std::size_t offset = size_;
  slots_.push_back({std::move(name), std::move(shape), offset, count});
  size_ += count;
  return offset;
}

std::string Layout::first_difference(const Layout& other) const {
  const std::size_t common = std::min(slots_.size(), other.slots_.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (slots_[i].name != other.slots_[i].name || slots_[i].shape != other.slots_[i].shape)
      return slots_[i].name;
  }
  if (slots_.size() == other.slots_.size()) return {};
  return slots_.size() > common ? slots_[common].name : other.slots_[common].name;
}

}  // namespace hearsay::kernels
