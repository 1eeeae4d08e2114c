// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/synthetic.hpp"

#include <limits>

#include "runtime/data/describe.hpp"
#include "runtime/data/label_histogram.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

// Squared distance of two images.
double distance(std::span<const std::uint8_t> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// Share of the test images that are nearest to their own class's mean training image.
double nearest_mean_accuracy(const Dataset& dataset) {
  const std::size_t bytes = dataset.train.image_bytes(), classes = dataset.train.classes;
  std::vector<std::vector<double>> means(classes, std::vector<double>(bytes));
  const auto counts = label_histogram(dataset.train.labels, dataset.train.classes);
  for (std::size_t i = 0; i < dataset.train.count(); ++i) {
    const std::uint8_t label = dataset.train.labels[i];
    for (std::size_t j = 0; j < bytes; ++j) {
      means[label][j] += dataset.train.image(i)[j] / static_cast<double>(counts[label]);
    }
  }
  std::size_t right_ones = 0;
  for (std::size_t i = 0; i < dataset.test.count(); ++i) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < classes; ++c) {
      const double d = distance(dataset.test.image(i), means[c]);
      if (d < least) {
        least = d;
        best = c;
      }
    }
    right_ones += best == dataset.test.labels[i];
  }
  return static_cast<double>(right_ones) / static_cast<double>(dataset.test.count());
}

}  // namespace

TEST_CASE("synthetic digits are ten even classes of 6,000 and 1,000 images") {
  const Dataset dataset = load_dataset("synthetic:digits", 1);
  CHECK(dataset.name == "synthetic:digits");
  CHECK(dataset.train.count() == 6000);
  CHECK(dataset.test.count() == 1000);
  CHECK(dataset.train.classes == 10);
  CHECK(dataset.train.pixels.size() == 6000 * dataset.train.image_bytes());
  CHECK(label_histogram(dataset.train.labels, 10) == std::vector<std::size_t>(10, 600));
  CHECK(label_histogram(dataset.test.labels, 10) == std::vector<std::size_t>(10, 100));
}

TEST_CASE("a seed is a set of digits, and its test images do not depend on the training count") {
  const DigitsOptions few{50, 40}, more{90, 40};
  CHECK(dataset_digest(synthetic_digits(5, few)) == dataset_digest(synthetic_digits(5, few)));
  CHECK(dataset_digest(synthetic_digits(5, few)) != dataset_digest(synthetic_digits(6, few)));
  CHECK(synthetic_digits(5, few).test.pixels == synthetic_digits(5, more).test.pixels);
  const Dataset same_counts = synthetic_digits(5, {40, 40});
  CHECK(same_counts.train.pixels != same_counts.test.pixels);
}

TEST_CASE("the digits of seed 0 are the same bytes on every machine") {
  CHECK(dataset_digest(synthetic_digits(0, {200, 100})) == "37983ab0ab1a3aeb");
}

TEST_CASE("digits tell their class, but a class mean is not enough to read them") {
  const std::uint64_t seed = GENERATE(0, 1, 2);
  CAPTURE(seed);
  const double accuracy = nearest_mean_accuracy(synthetic_digits(seed));
  CHECK(accuracy > 0.4);
  CHECK(accuracy < 0.9);
}
