// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/vector_ops.hpp"

#include "kernels/ops/merge_ops.hpp"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

// kernels/core/tile_tree.hpp word by word.
double canonical_dot(const std::vector<float>& x, const std::vector<float>& y) {
  const auto fold = [](std::vector<double> slots) {
    double sum = 0.0;
    for (std::size_t tree = 0; tree < 8; ++tree) {
      std::vector<double> level(slots.begin() + tree * 32, slots.begin() + tree * 32 + 32);
      for (; level.size() > 1; level.resize(level.size() / 2)) {
        for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] += level[i + level.size() / 2];
      }
      sum += level[0];
    }
    return sum;
  };
  std::vector<double> tiles;
  for (std::size_t at = 0; at < x.size(); at += 4096) {
    std::vector<double> sums(1024), slots(256);
    for (std::size_t i = at; i < std::min(x.size(), at + 4096); ++i)
      sums[(i - at) % 1024] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    for (std::size_t s = 0; s < 256; ++s)
      slots[s] = (sums[4 * s] + sums[4 * s + 1]) + (sums[4 * s + 2] + sums[4 * s + 3]);
    tiles.push_back(fold(slots));
  }
  double total = 0.0;
  for (std::size_t first = 0; first < tiles.size(); first += 1024) {
    std::vector<double> slots(256);
    for (std::size_t i = first; i < std::min(tiles.size(), first + 1024); ++i)
      slots[(i - first) % 256] += tiles[i];
    total += fold(slots);
  }
  return total;
}

}  // namespace

TEST_CASE("sums follow the canonical tree bit for bit, whatever the workers") {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{4097},
                              std::size_t{1'000'003}, std::size_t{4096 * 1027 + 5}}) {
    CAPTURE(n);
    const auto x = test_values(n, "x"), y = test_values(n, "y");
    OneWorker alone;
    FakeWorkers many(5);
    CHECK(same_bits(dot(x, y, alone), canonical_dot(x, y)));
    CHECK(same_bits(dot(x, y, many), canonical_dot(x, y)));
    CHECK(same_bits(squared_norm(x, many), canonical_dot(x, x)));
    CHECK(same_bits(squared_distance(x, {}), canonical_dot(x, x)));
    std::vector<float> difference(n);
    for (std::size_t i = 0; i < n; ++i) difference[i] = x[i] - y[i];
    CHECK(same_bits(squared_distance(x, y, many), canonical_dot(difference, difference)));
    const MergeStats one = merge_stats(x, y, {}, {}), five = merge_stats(x, y, {}, {}, many);
    CHECK(same_bits(one.displacement_sq, five.displacement_sq));
    CHECK(same_bits(one.weights_sq, canonical_dot(x, x)));
  }
}

TEST_CASE("axpy rounds the product and the sum") {
  for (const std::size_t n : kTestSizes) {
    const auto x = test_values(n, "x");
    auto y = test_values(n, "y");
    auto expected = y;
    for (std::size_t i = 0; i < n; ++i) {
      const volatile float product = -0.3f * x[i];
      const volatile float sum = expected[i] + product;
      expected[i] = sum;
    }
    FakeWorkers many(3);
    axpy(-0.3f, x, y, many);
    CHECK(same_bits(y, expected));
  }
}
