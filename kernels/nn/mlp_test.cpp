// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/mlp.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/nn/dense.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

TEST_CASE("parameter names and shapes are those of a PyTorch Sequential") {
  const Mlp model({784, 256, 128, 10});
  const auto& slots = model.layout().slots();
  REQUIRE(slots.size() == 6);
  CHECK(slots[0].name == "0.weight");
  CHECK(slots[3].name == "2.bias");
  CHECK(slots[4].name == "4.weight");
  CHECK(slots[4].shape == std::vector<std::size_t>{10, 128});
  CHECK(model.layout().size() == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
}

TEST_CASE("initial weights have He variance and depend on the seed alone") {
  const Mlp model({100, 200, 10});
  std::vector<float> a(model.layout().size()), b(a.size());
  Rng one = Rng::stream(1, "init"), same = Rng::stream(1, "init"), other = Rng::stream(2, "init");
  model.initialise(one, a);
  model.initialise(same, b);
  CHECK(a == b);
  model.initialise(other, b);
  CHECK(a != b);
  double sum2 = 0;
  for (std::size_t i = 0; i < 20'000; ++i) sum2 += double(a[i]) * a[i];
  CHECK(sum2 / 20'000 == Approx(2.0 / 100).epsilon(0.05));
  for (std::size_t i = 20'000; i < 20'200; ++i) CHECK(a[i] == 0.0f);
}

TEST_CASE("a batch gives the same gradient wherever its rows come from, and NaN reaches the loss") {
  const Mlp model({6, 5, 3});
  std::vector<float> params(model.layout().size());
  Rng rng = Rng::stream(1, "init");
  model.initialise(rng, params);
  MlpWorkspace<float> small(model, 4), large(model, 64);
  const std::vector<std::uint8_t> labels = {0, 1, 2, 1};
  for (std::size_t i = 0; i < 24; ++i)
    small.input()[i] = large.input()[i] = static_cast<float>(rng.normal());
  const LossSums a = small.differentiate(4, params.data(), labels.data());
  const LossSums b = large.differentiate(4, params.data(), labels.data());
  CHECK(a.loss == b.loss);
  CHECK(std::equal(small.gradient().begin(), small.gradient().end(), large.gradient().begin()));

  params[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(small.differentiate(4, params.data(), labels.data()).loss));
}

TEST_CASE("loss sums count ties for the lower class and report the probability of the true class") {
  const std::vector<float> logits = {1, 1, 0, 0, 5, 0};
  const std::vector<std::uint8_t> labels = {0, 1};
  float* none = nullptr;
  const LossSums sums = softmax_cross_entropy(2, 3, logits.data(), labels.data(), none);
  CHECK(sums.correct == 2);
  CHECK(sums.confidence ==
        Approx(std::exp(1) / (2 * std::exp(1) + 1) + std::exp(5) / (std::exp(5) + 2)));
}
