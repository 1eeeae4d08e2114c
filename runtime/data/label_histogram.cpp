// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/label_histogram.hpp"

#include <algorithm>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

std::vector<std::size_t> label_histogram(std::span<const std::uint8_t> labels,
                                         std::uint32_t classes) {
  std::vector<std::size_t> counts(classes, 0);
  for (const std::uint8_t label : labels) {
    HS_CHECK(label < classes);
    ++counts[label];
  }
  return counts;
}

std::string left(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string right(std::string text, std::size_t width) {
  text.insert(0, width - std::min(text.size(), width), ' ');
  return text;
}

std::string number_row(std::span<const std::size_t> numbers, std::size_t width) {
  std::string row;
  for (const std::size_t n : numbers) row += right(std::to_string(n), width);
  return row;
}

}  // namespace hearsay::runtime
