// SPDX-License-Identifier: Apache-2.0
#include "clustering/partition.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "clustering/assignment.hpp"
#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;

namespace {

using Labels = std::vector<std::uint32_t>;

Agreement between(const Labels& a, const Labels& b) { return agreement(numbered(a), numbered(b)); }

Labels random_labels(hearsay::kernels::Rng& rng, std::size_t peers, std::uint32_t parts) {
  Labels labels(peers);
  for (auto& label : labels) label = rng.below(parts);
  return labels;
}

double gain_of(const std::vector<std::size_t>& columns, std::span<const double> gains,
               std::size_t width) {
  double sum = 0.0;
  for (std::size_t r = 0; r < columns.size(); ++r) sum += gains[r * width + columns[r]];
  return sum;
}

}  // namespace

TEST_CASE("partitions are numbered by first appearance") {
  const Partition partition = numbered(Labels{7, 3, 7, 9, 3});
  CHECK(partition.labels == Labels{0, 1, 0, 2, 1});
  CHECK(partition.count == 3);
  CHECK(part_sizes(partition) == Labels{2, 2, 1});
  CHECK(numbered(Labels{}).count == 0);
}

TEST_CASE("agreement of an example done by hand") {
  // Pairs together in both: 2; in a: 6; in b: 3; of 15.
  const Agreement have = between({0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2});
  CHECK(have.rand == Approx((15.0 + 2 * 2 - 6 - 3) / 15));
  CHECK(have.adjusted_rand == Approx((2.0 - 6.0 * 3 / 15) / (0.5 * (6 + 3) - 6.0 * 3 / 15)));
  const double h_a = std::log(2.0), h_b = std::log(3.0);
  const double h = 2.0 / 3 * std::log(3.0) + 1.0 / 3 * std::log(6.0);
  CHECK(have.mutual_information == Approx((h_a + h_b - h) / (0.5 * (h_a + h_b))));
}

TEST_CASE("agreement is 1 for the same partition, symmetric, and blind to numbers") {
  hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(1, "partitions");
  for (int round = 0; round < 50; ++round) {
    const Labels a = random_labels(rng, 30, 4), b = random_labels(rng, 30, 3);
    Labels renamed = a;
    for (auto& label : renamed) label = 3 - label;
    CHECK(between(a, renamed).rand == 1.0);
    CHECK(between(a, renamed).adjusted_rand == Approx(1.0));
    CHECK(between(a, renamed).mutual_information == Approx(1.0));
    CHECK(between(a, b).adjusted_rand == Approx(between(b, a).adjusted_rand));
    CHECK(between(a, b).rand == Approx(between(renamed, b).rand));
    CHECK(between(a, b).mutual_information == Approx(between(b, renamed).mutual_information));
  }
}

TEST_CASE("the adjusted index of chance is 0, the plain one is not") {
  hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(2, "partitions");
  double adjusted = 0.0, plain = 0.0;
  for (int round = 0; round < 500; ++round) {
    const Agreement have = between(random_labels(rng, 40, 4), random_labels(rng, 40, 4));
    adjusted += have.adjusted_rand / 500;
    plain += have.rand / 500;
  }
  CHECK(std::fabs(adjusted) < 0.01);
  CHECK(plain > 0.5);
}

TEST_CASE("agreement where there is nothing to divide by") {
  const Labels one(5, 0), alone = {0, 1, 2, 3, 4};
  CHECK(between(one, one).adjusted_rand == 1.0);
  CHECK(between(one, one).mutual_information == 1.0);
  CHECK(between(alone, alone).adjusted_rand == 1.0);
  CHECK(between(one, alone).adjusted_rand == 0.0);
  CHECK(between(one, alone).mutual_information == 0.0);
  CHECK(between(one, alone).rand == 0.0);
  CHECK(between({}, {}).adjusted_rand == 1.0);
  CHECK(between({0}, {0}).mutual_information == 1.0);
}

TEST_CASE("assignments are the best of all, by trying all") {
  hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(3, "gains");
  for (int round = 0; round < 300; ++round) {
    const std::size_t columns = 1 + rng.below(6);
    const std::size_t rows = rng.below(static_cast<std::uint32_t>(columns) + 1);
    std::vector<double> gains(rows * columns);
    // Small numbers, so that many are equal; some below 0.
    for (double& gain : gains) gain = static_cast<double>(rng.below(6)) - 1.0;
    const auto have = assign(rows, columns, gains);
    REQUIRE(have.size() == rows);
    CHECK(std::set<std::size_t>(have.begin(), have.end()).size() == rows);
    std::vector<std::size_t> order(columns);
    std::iota(order.begin(), order.end(), std::size_t{0});
    double best = -1e300;
    do {
      const std::vector<std::size_t> tried(order.begin(),
                                           order.begin() + static_cast<std::ptrdiff_t>(rows));
      best = std::max(best, gain_of(tried, gains, columns));
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(gain_of(have, gains, columns) == best);
  }
}
