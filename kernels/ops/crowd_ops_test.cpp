// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/crowd_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

using Models = std::vector<std::vector<float>>;

Models random_models(std::size_t rows, std::size_t n, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, "crowd");
  Models models(rows, std::vector<float>(n));
  for (auto& model : models)
    for (float& v : model) {
      v = static_cast<float>(rng.normal());
      if (rng.below(50) == 0) v *= 1e30f;
      if (rng.below(20) == 0) v = 0.25f;  // ties
    }
  return models;
}

std::vector<std::span<const float>> spans(const Models& models) {
  return {models.begin(), models.end()};
}

// In double, a column at a time.
double reference(const Models& models, std::size_t column, std::size_t trim) {
  std::vector<double> values;
  for (const auto& model : models) values.push_back(model[column]);
  std::sort(values.begin(), values.end());
  double sum = 0.0;
  for (std::size_t i = trim; i < values.size() - trim; ++i) sum += values[i];
  return sum / static_cast<double>(values.size() - 2 * trim);
}

}  // namespace

TEST_CASE("a trimmed mean leaves the extremes out, whatever the number of models and values") {
  for (const std::size_t rows : {1, 2, 3, 4, 5, 8, 31, 32}) {
    for (const std::size_t n : {0, 1, 31, 255, 256, 257, 1000}) {
      const Models models = random_models(rows, n, rows * 1000 + n);
      for (std::size_t trim = 0; 2 * trim < rows; ++trim) {
        std::vector<float> out(n, std::numeric_limits<float>::quiet_NaN());
        trimmed_mean(spans(models), trim, out);
        for (std::size_t i = 0; i < n; ++i) {
          double scale = 0.0;
          for (const auto& model : models) scale = std::max(scale, std::abs(double{model[i]}));
          const double wanted = reference(models, i, trim);
          INFO(rows << " models, " << n << " values, trim " << trim << ", value " << i);
          REQUIRE(std::abs(out[i] - wanted) <= 1e-6 * std::max(scale, 1e-3));
        }
      }
    }
  }
}

TEST_CASE("the median does not depend on the order of the models and ignores a minority") {
  Models models = random_models(5, 700, 7);
  std::vector<float> first(700), second(700);
  coordinate_median(spans(models), first);
  std::reverse(models.begin(), models.end());
  coordinate_median(spans(models), second);
  CHECK(first == second);
  for (float& v : models[0]) v = 1e30f;
  for (float& v : models[1]) v = -1e30f;
  coordinate_median(spans(models), second);
  for (std::size_t i = 0; i < second.size(); ++i) {
    const auto [low, high] = std::minmax({models[2][i], models[3][i], models[4][i]});
    REQUIRE((second[i] >= low && second[i] <= high));
  }
}
