// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/describe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "kernels/core/digest.hpp"
#include "runtime/data/label_histogram.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kNameWidth = 10, kNumberWidth = 8;

std::string line(const std::string& name, const std::string& value) {
  return left(name, kNameWidth) + value + "\n";
}

std::string fixed4(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

// Ten classes a block: a line of class numbers, then a line a set.
std::string class_table(const Dataset& dataset) {
  const auto train = label_histogram(dataset.train.labels, dataset.train.classes);
  const auto test = label_histogram(dataset.test.labels, dataset.test.classes);
  std::vector<std::size_t> numbers(train.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::string text;
  for (std::size_t first = 0; first < numbers.size(); first += kHistogramColumns) {
    const std::size_t n = std::min(kHistogramColumns, numbers.size() - first);
    const auto row = [&](const std::string& name, const std::vector<std::size_t>& counts) {
      return line(name, number_row(std::span(counts).subspan(first, n), kNumberWidth));
    };
    text += row("class", numbers) + row("train", train) + row("test", test);
  }
  return text;
}

}  // namespace

PixelStats pixel_stats(const ImageSet& images) {
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t value : images.pixels) ++counts[value];
  std::uint64_t sum = 0, squares = 0;
  for (std::uint64_t value = 0; value < counts.size(); ++value) {
    sum += counts[value] * value;
    squares += counts[value] * value * value;
  }
  if (images.pixels.empty()) return {};
  const double n = static_cast<double>(images.pixels.size());
  const double mean = static_cast<double>(sum) / n;
  const double variance = std::max(0.0, static_cast<double>(squares) / n - mean * mean);
  return {mean / 255.0, std::sqrt(variance) / 255.0};
}

std::string dataset_digest(const Dataset& dataset) {
  static_assert(std::endian::native == std::endian::little);
  const ImageSet &train = dataset.train, &test = dataset.test;
  const std::array<std::uint64_t, 8> words{train.rows,
                                           train.cols,
                                           train.classes,
                                           0,
                                           kernels::digest64(train.pixels),
                                           kernels::digest64(train.labels),
                                           kernels::digest64(test.pixels),
                                           kernels::digest64(test.labels)};
  std::array<std::uint8_t, sizeof words> bytes{};
  std::memcpy(bytes.data(), words.data(), sizeof words);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(kernels::digest64(bytes)));
  return text;
}

std::string describe_text(const Dataset& dataset) {
  const ImageSet& train = dataset.train;
  const PixelStats stats = pixel_stats(train);
  return line("data set", dataset.name) + line("origin", dataset.origin) +
         line("images", std::to_string(train.count()) + " train, " +
                            std::to_string(dataset.test.count()) + " test, " +
                            std::to_string(train.rows) + " x " + std::to_string(train.cols) +
                            " pixels of one byte") +
         line("classes", std::to_string(train.classes)) +
         line("pixels", "mean " + fixed4(stats.mean) + ", std " + fixed4(stats.deviation) +
                            " over the training set (black 0, white 1)") +
         line("digest", dataset_digest(dataset) + " (XXH3-64)") + "\n" + class_table(dataset);
}

nlohmann::ordered_json describe_json(const Dataset& dataset) {
  const ImageSet &train = dataset.train, &test = dataset.test;
  const PixelStats stats = pixel_stats(train);
  return {{"name", dataset.name},
          {"origin", dataset.origin},
          {"train", train.count()},
          {"test", test.count()},
          {"rows", train.rows},
          {"cols", train.cols},
          {"classes", train.classes},
          {"train_per_class", label_histogram(train.labels, train.classes)},
          {"test_per_class", label_histogram(test.labels, test.classes)},
          {"pixel_mean", stats.mean},
          {"pixel_std", stats.deviation},
          {"digest", dataset_digest(dataset)}};
}

}  // namespace hearsay::runtime
