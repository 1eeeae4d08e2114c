// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/network.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/errc.hpp"
#include "kernels/nn/convolution.hpp"
#include "kernels/nn/dense.hpp"
#include "kernels/nn/workspace.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

TEST_CASE("parameter names and shapes are those of a PyTorch Sequential") {
  const Network model = Network::mlp({784, 256, 128, 10});
  const auto& slots = model.layout().slots();
  REQUIRE(slots.size() == 6);
  CHECK(slots[0].name == "0.weight");
  CHECK(slots[3].name == "2.bias");
  CHECK(slots[4].name == "4.weight");
  CHECK(slots[4].shape == std::vector<std::size_t>{10, 128});
  CHECK(model.layout().size() == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
}

TEST_CASE("a CNN has the tensors of the same layers in PyTorch") {
  const Network model = Network::cnn(28, 28, {16, 32}, {128}, 10);
  std::vector<std::string> names;
  for (const TensorSlot& slot : model.layout().slots()) names.push_back(slot.name);
  // Conv2d, ReLU, MaxPool2d, Conv2d, ReLU, MaxPool2d, Flatten, Linear, ReLU, Linear
  CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias", "7.weight",
                                          "7.bias", "9.weight", "9.bias"});
  const auto& slots = model.layout().slots();
  CHECK(slots[2].shape == std::vector<std::size_t>{32, 16, 5, 5});
  CHECK(slots[4].shape == std::vector<std::size_t>{128, 32 * 4 * 4});
  CHECK(model.layout().size() == 16 * 26 + 32 * 401 + 128 * 513 + 10 * 129);
  CHECK_THROWS_AS(Network::cnn(8, 8, {4, 8}, {}, 10), UsageError);
  CHECK_NOTHROW(Network::cnn(8, 8, {4}, {}, 10));
}

TEST_CASE("a convolution is the sum over its window, and pooling keeps the largest of four") {
  const Network model = Network::cnn(6, 7, {2}, {}, 3);
  const Layer& layer = model.layers()[0];
  REQUIRE(layer.positions() == 2 * 3);
  REQUIRE(layer.outputs() == 2 * 1 * 1);  // the odd third column is left out
  std::vector<float> x(42), patches(6 * 25);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  take_patches(layer, 1, x.data(), patches.data());
  CHECK(patches[0] == 0.0f);
  CHECK(patches[24] == 4 * 7 + 4);
  CHECK(patches[5 * 25] == 1 * 7 + 2);  // last position: row 1, column 2
  const std::vector<float> sums = {-1, 5, -2, 7, 100, 100, -3, 7, -0.5f, 2, 100, 100};
  std::vector<float> y(2), dy = {3, 4}, d_sums(12, 9.0f);
  std::vector<std::uint8_t> choices(2);
  pool_forward(layer, 1, sums.data(), y.data(), choices.data());
  CHECK(y == std::vector<float>{0.0f, 7.0f});  // all below zero: ReLU; a tie: the first
  CHECK(choices == std::vector<std::uint8_t>{3, 1});
  pool_backward(layer, 1, y.data(), choices.data(), dy.data(), d_sums.data());
  CHECK(d_sums == std::vector<float>{0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("initial weights have He variance and depend on the seed alone") {
  const Network model = Network::mlp({100, 200, 10});
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
  const Network model = Network::mlp({6, 5, 3});
  std::vector<float> params(model.layout().size());
  Rng rng = Rng::stream(1, "init");
  model.initialise(rng, params);
  Workspace<float> small(model, 4), large(model, 64);
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
