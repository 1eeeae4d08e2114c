// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_scores.hpp"

#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Rng;

TEST_CASE("a look is the softmax of the outputs at a temperature") {
  const std::vector<float> logits{1.0f, 3.0f, -2.0f};
  const double total = std::exp(1.0) + std::exp(3.0) + std::exp(-2.0);
  const Look right = look_at(logits, 1, 1.0);
  CHECK(right.confidence == Approx(std::exp(3.0) / total));
  CHECK(right.margin == Approx((std::exp(3.0) - std::exp(1.0)) / total));
  CHECK(right.loss == Approx(-std::log(std::exp(3.0) / total)));
  CHECK(right.right());
  const Look wrong = look_at(logits, 0, 1.0);
  CHECK(wrong.margin == Approx(-right.margin));
  CHECK_FALSE(wrong.right());
  CHECK(look_at(logits, 1, 4.0).confidence < right.confidence);
  CHECK(look_at(logits, 2, 4.0).confidence > look_at(logits, 2, 1.0).confidence);
}

TEST_CASE("outputs that are far apart give probabilities, not infinities") {
  const std::vector<float> logits{-300.0f, 800.0f};
  const Look wrong = look_at(logits, 0, 1.0);
  CHECK(wrong.confidence == 0.0f);
  CHECK(wrong.loss == Approx(1100.0));
  CHECK(wrong.margin == Approx(-1.0));
}

TEST_CASE("the best temperature undoes outputs that are too loud or too quiet") {
  const double loudness = GENERATE(0.5, 1.0, 3.0);
  CAPTURE(loudness);
  Rng rng = Rng::stream(9, "temperature-test");
  std::vector<float> logits;
  std::vector<std::uint8_t> labels;
  for (int i = 0; i < 4000; ++i) {  // labels drawn from the softmax of the quiet outputs
    double row[3], total = 0.0;
    for (double& value : row) {
      value = 2.0 * rng.normal();
      total += std::exp(value);
      logits.push_back(static_cast<float>(loudness * value));
    }
    const double at = rng.uniform() * total;
    double sum = std::exp(row[0]);
    std::uint8_t label = 0;
    while (label < 2 && sum < at) sum += std::exp(row[++label]);
    labels.push_back(label);
  }
  CHECK(best_temperature(logits, labels) == Approx(loudness).epsilon(0.1));
  CHECK(best_temperature({}, {}) == 1.0);
}
