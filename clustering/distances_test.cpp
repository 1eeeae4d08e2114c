// SPDX-License-Identifier: Apache-2.0
#include "clustering/distances.hpp"

#include <cmath>
#include <limits>

#include "clustering/predictions.hpp"
#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;
using namespace hearsay::clustering::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Distances of(const Rows& rows, Metric metric) { return sketch_distances(spans(rows), metric); }

}  // namespace

TEST_CASE("condensed distances are symmetric and lie where SciPy has them") {
  Distances distances(4);
  double next = 1.0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i + 1; j < 4; ++j) distances.set(j, i, next++);
  }
  REQUIRE(distances.values().size() == 6);
  for (std::size_t k = 0; k < 6; ++k) CHECK(distances.values()[k] == 1.0 + static_cast<double>(k));
  CHECK(distances(2, 1) == 4.0);
  CHECK(distances(1, 2) == 4.0);
  CHECK(distances(3, 3) == 0.0);
  CHECK(squared(distances)(2, 3) == 36.0);
}

TEST_CASE("euclidean distances are those of a textbook, for every remainder of the lanes") {
  CHECK(of({{0, 0}, {3, 4}}, Metric::euclidean)(0, 1) == 5.0);
  for (std::size_t m = 1; m <= 33; ++m) {
    const Rows rows = noise(m, 2, m);
    double squares = 0.0;
    for (std::size_t k = 0; k < m; ++k) {
      squares += std::pow(static_cast<double>(rows[0][k]) - static_cast<double>(rows[1][k]), 2);
    }
    CHECK(of(rows, Metric::euclidean)(0, 1) == Approx(std::sqrt(squares)));
  }
}

TEST_CASE("cosine distances are taken from the mean of the pool") {
  const Distances two = of({{100, 101}, {100, 99}}, Metric::cosine);
  CHECK(two(0, 1) == Approx(2.0));  // either side of the mean
  const Distances four = of({{11, 10}, {9, 10}, {10, 11}, {10, 9}}, Metric::cosine);
  CHECK(four(0, 1) == Approx(2.0));
  CHECK(four(0, 2) == Approx(1.0));
  // Where along its direction a model is makes no difference.
  const Distances scaled = of({{12, 10}, {8, 10}, {11, 10}, {9, 10}}, Metric::cosine);
  CHECK(scaled(0, 2) == Approx(0.0).margin(1e-12));
  CHECK(scaled(1, 2) == Approx(2.0));
}

TEST_CASE("equal models are exactly 0 apart, also among others and at the mean") {
  Rows rows = noise(1, 6, 1000);
  rows[4] = rows[1];
  for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
    const Distances distances = of(rows, metric);
    CHECK(distances(1, 4) == 0.0);
    CHECK(distances(1, 2) > 0.1);
    for (std::size_t j = 0; j < 6; ++j) {
      if (j != 1 && j != 4) CHECK(distances(1, j) == distances(4, j));
    }
    const Distances same = of(Rows(5, rows[0]), metric);
    for (const double d : same.values()) CHECK(d == 0.0);
  }
  const Distances at_mean = of({{1, 0}, {-1, 0}, {0, 0}, {0, 0}}, Metric::cosine);
  CHECK(at_mean(2, 3) == 0.0);
  CHECK(at_mean(0, 2) == 1.0);
}

TEST_CASE("sketches that are missing or not finite isolate their peer and nobody else") {
  Rows rows = noise(2, 7, 50);
  const Rows healthy = {rows[0], rows[2], rows[4], rows[6]};
  rows[1].clear();
  rows[3][49] = kNan;
  rows[5][0] = -std::numeric_limits<float>::infinity();
  for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
    const Distances distances = of(rows, metric), without = of(healthy, metric);
    for (std::size_t i = 0; i < 7; ++i) {
      CHECK(distances.isolated(i) == (i % 2 == 1));
      for (std::size_t j = 0; j < i; ++j) {
        const bool both = i % 2 == 0 && j % 2 == 0;
        CHECK(distances(i, j) == (both ? without(i / 2, j / 2) : kInf));
      }
    }
  }
}

TEST_CASE("pools of none, one, and of nothing usable have distances") {
  for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
    CHECK(of({}, metric).size() == 0);
    CHECK(of({{1, 2}}, metric).size() == 1);
    CHECK_FALSE(of({{1, 2}}, metric).isolated(0));
    const Distances none = of({{}, {}, {kNan}}, metric);
    for (const double d : none.values()) CHECK(d == kInf);
  }
}

TEST_CASE("values near the end of fp32 do not overflow") {
  const float huge = std::numeric_limits<float>::max();
  const Rows rows = {{huge, 0}, {-huge, 0}, {0, huge}};
  CHECK(of(rows, Metric::euclidean)(0, 1) == Approx(2.0 * static_cast<double>(huge)));
  const Distances cosine = of(rows, Metric::cosine);
  for (const double d : cosine.values()) CHECK(d <= 2.0);
}

TEST_CASE(
    "divergence of predictions: 0 for the same, 1 bit for the opposite, a known value between") {
  const Rows tables = {{1, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 0, 1}, {0.5f, 0.5f, 1, 0}};
  const Distances distances = prediction_divergences(spans(tables), 2);
  CHECK(distances(0, 1) == 0.0);
  CHECK(distances(0, 2) == Approx(1.0));
  // Row 1: H(3/4, 1/4) - H(1/2, 1/2) / 2; row 2: 0.
  const double row = -0.75 * std::log2(0.75) - 0.25 * std::log2(0.25) - 0.5;
  CHECK(distances(0, 3) == Approx(row / 2));
  CHECK(distances(3, 0) == distances(0, 3));
}

TEST_CASE("tables are scaled to rows of one; those that cannot be isolate their peer") {
  const Rows tables = {{2, 6}, {0.25f, 0.75f}, {}, {0, 0}, {-0.5f, 1.5f}, {kNan, 1}, {0.5f, 0.5f}};
  const Distances distances = prediction_divergences(spans(tables), 2);
  CHECK(distances(0, 1) == 0.0);
  CHECK(distances(0, 6) > 0.01);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    INFO("peer " << i);
    CHECK(distances.isolated(i) == (i >= 2 && i <= 5));
  }
}
