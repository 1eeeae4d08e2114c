// SPDX-License-Identifier: Apache-2.0
#include "clustering/discover.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "clustering/null_model.hpp"
#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;
using namespace hearsay::clustering::testing;

namespace {

constexpr Linkage kAll[] = {Linkage::single, Linkage::complete, Linkage::average, Linkage::ward};

Discovery found_in(const Rows& rows, const Recipe& recipe) { return discover(spans(rows), recipe); }

Recipe recipe_of(Metric metric, Linkage linkage) {
  Recipe recipe;
  recipe.metric = metric;
  recipe.linkage = linkage;
  return recipe;
}

}  // namespace

TEST_CASE("two and four groups among 16 sketches are found exactly, by every linkage and metric") {
  for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
    for (const Linkage linkage : kAll) {
      for (const std::size_t groups : {2u, 4u}) {
        for (std::uint64_t seed = 0; seed < 2; ++seed) {
          const Discovery found =
              found_in(planted(seed, 16, groups, 1024, 1.0), recipe_of(metric, linkage));
          INFO("metric " << static_cast<int>(metric) << ", linkage " << static_cast<int>(linkage)
                         << ", groups " << groups << ", seed " << seed);
          CHECK(found.partition.labels == planted_labels(16, groups));
          CHECK(found.silhouette > found.null_limit);
          CHECK(found.null_limit > 0.0);
        }
      }
    }
  }
}

TEST_CASE("sketches of one kind are one community, by every linkage and metric") {
  for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
    for (const Linkage linkage : kAll) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Discovery found = found_in(noise(seed, 16, 1024), recipe_of(metric, linkage));
        INFO("metric " << static_cast<int>(metric) << ", linkage " << static_cast<int>(linkage)
                       << ", seed " << seed);
        CHECK(found.partition.count == 1);
        CHECK(found.silhouette < 0.15);
      }
    }
  }
}

TEST_CASE(
    "in few dimensions noise has large silhouettes; calibration refuses what a limit does not") {
  int accepted = 0, above_limit = 0;
  Recipe calibrated, plain;
  plain.cut = CutRule::silhouette;
  constexpr int kPools = 200;
  for (std::uint64_t seed = 0; seed < kPools; ++seed) {
    const Rows rows = noise(seed, 16, 3);
    calibrated.seed = seed;
    accepted += found_in(rows, calibrated).partition.count > 1 ? 1 : 0;
    above_limit += found_in(rows, plain).partition.count > 1 ? 1 : 0;
  }
  CHECK(above_limit > kPools * 9 / 10);
  CHECK(accepted <= kPools / 10);  // 5 % are meant: 10 of 200, 20 are over three deviations more
  WARN(accepted << " of " << kPools << " pools of noise were split, " << above_limit
                << " without calibration");
}

TEST_CASE("real groups in few dimensions pass the calibration") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rows rows = noise(seed, 16, 3);
    for (std::size_t i = 0; i < 16; i += 2) rows[i][0] += 12.0f;
    found += found_in(rows, {}).partition.labels == planted_labels(16, 2) ? 1 : 0;
  }
  CHECK(found >= 18);
}

TEST_CASE("nulls repeat, depend on the seed, and have the size and order that is told") {
  const std::vector<double> norms(16, 3.0);
  NullModel model;
  const auto first = null_silhouettes(model, norms, 8);
  CHECK(first == null_silhouettes(model, norms, 8));
  CHECK(first.size() == 20);
  CHECK(std::is_sorted(first.begin(), first.end()));
  model.seed = 1;
  CHECK(first != null_silhouettes(model, norms, 8));
  CHECK(upper_limit(first) > null_silhouettes(model, norms, 1024).back());
}

TEST_CASE("the limit that a further null stays below with 95 %") {
  std::vector<double> values;
  for (int i = 1; i <= 20; ++i) values.push_back(i);
  CHECK(upper_limit(values) == Approx(19.95));
  CHECK(upper_limit(values, 0.5) == Approx(10.5));
  CHECK(upper_limit(values, 0.99) == 20.0);
  CHECK(upper_limit(values, 0.0) == 1.0);
  CHECK(upper_limit(std::vector<double>{}) == std::numeric_limits<double>::infinity());
}

TEST_CASE("peers without a sketch are alone, whatever the cut, and the groups are still found") {
  Rows rows = planted(1, 16, 2, 256, 1.0);
  rows[3].clear();
  rows[8][7] = std::numeric_limits<float>::quiet_NaN();
  auto want = planted_labels(16, 2);
  want[3] = 2;
  want[8] = 3;
  for (const CutRule cut :
       {CutRule::calibrated, CutRule::silhouette, CutRule::gap, CutRule::count, CutRule::height}) {
    Recipe recipe;
    recipe.cut = cut;
    recipe.height = 1.2 * std::sqrt(2.0 * 256);  // between the distances inside and across
    const Discovery found = found_in(rows, recipe);
    INFO("cut " << static_cast<int>(cut));
    CHECK(found.partition == numbered(want));
    CHECK(found.silhouette > 0.15);
  }
}

TEST_CASE("degenerate pools: none, one, two, equal models, nothing usable") {
  for (const Linkage linkage : kAll) {
    for (const CutRule cut : {CutRule::calibrated, CutRule::silhouette, CutRule::gap}) {
      Recipe recipe;
      recipe.linkage = linkage;
      recipe.cut = cut;
      CHECK(found_in({}, recipe).partition.count == 0);
      CHECK(found_in(noise(1, 1, 8), recipe).partition.count == 1);
      CHECK(found_in(noise(1, 2, 8), recipe).partition.count == 1);
      CHECK(found_in(Rows(9, noise(1, 1, 8)[0]), recipe).partition.count == 1);
      CHECK(found_in(Rows(4), recipe).partition.count == 4);
      recipe.rule.least = -1.0;
      CHECK(found_in(Rows(4), recipe).partition.count == 4);
    }
  }
}

TEST_CASE("copies of two models are two communities") {
  const Rows models = noise(3, 2, 64);
  Rows rows;
  for (std::size_t i = 0; i < 12; ++i) rows.push_back(models[i % 2]);
  const Discovery found = found_in(rows, {});
  CHECK(found.partition.labels == planted_labels(12, 2));
  CHECK(found.silhouette == 1.0);
}
