// SPDX-License-Identifier: Apache-2.0
// Counts of labels, and the rows of numbers in which they are printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearsay::runtime {

inline constexpr std::size_t kHistogramColumns = 10;  // classes a line

std::vector<std::size_t> label_histogram(std::span<const std::uint8_t> labels,
                                         std::uint32_t classes);

std::string left(std::string text, std::size_t width);   // padded behind
std::string right(std::string text, std::size_t width);  // padded in front
// "     6000     5949": each right-aligned.
std::string number_row(std::span<const std::size_t> numbers, std::size_t width);

}  // namespace hearsay::runtime
