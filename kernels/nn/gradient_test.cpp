// SPDX-License-Identifier: Apache-2.0
// Every layer's backward pass against central differences in double: (f(x + h) - f(x - h)) / 2h, h
// = 1e-5.
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/nn/dense.hpp"
#include "kernels/nn/loss.hpp"
#include "kernels/nn/workspace.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<double> random_values(std::size_t n, const char* purpose) {
  Rng rng = Rng::stream(9, purpose);
  std::vector<double> values(n);
  for (double& v : values) v = rng.normal();
  return values;
}

// Compares `gradient` with central differences of `f` in every coordinate of `x`.
void check_gradient(std::vector<double>& x, const std::vector<double>& gradient,
                    const std::function<double()>& f) {
  REQUIRE(gradient.size() == x.size());
  const double h = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + h;
    const double above = f();
    x[i] = kept - h;
    const double below = f();
    x[i] = kept;
    CAPTURE(i);
    REQUIRE(gradient[i] == Approx((above - below) / (2 * h)).epsilon(1e-6).margin(1e-8));
  }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEST_CASE("dense layer: gradients of input, weight and bias") {
  const DenseShape s{5, 7, 4};
  auto x = random_values(s.batch * s.in, "x"), weight = random_values(s.out * s.in, "weight"),
       bias = random_values(s.out, "bias");
  const auto dy = random_values(s.batch * s.out, "dy");  // f = <y, dy>
  const auto f = [&] {
    std::vector<double> y(s.batch * s.out);
    dense_forward(s, x.data(), weight.data(), bias.data(), y.data());
    return dot(y, dy);
  };
  std::vector<double> d_weight(weight.size()), d_bias(bias.size()), dx(x.size());
  dense_backward(s, x.data(), weight.data(), dy.data(), d_weight.data(), d_bias.data(), dx.data());
  check_gradient(x, dx, f);
  check_gradient(weight, d_weight, f);
  check_gradient(bias, d_bias, f);
}

TEST_CASE("ReLU: gradient away from the kink") {
  auto x = random_values(60, "relu");
  for (double& v : x) v += v < 0 ? -0.01 : 0.01;
  const auto dy = random_values(60, "relu-dy");
  const auto f = [&] {
    auto y = x;
    relu_forward(y.size(), y.data());
    return dot(y, dy);
  };
  auto y = x;
  relu_forward(y.size(), y.data());
  auto dx = dy;
  relu_backward(y.size(), y.data(), dx.data());
  check_gradient(x, dx, f);
}

TEST_CASE("softmax cross-entropy: gradient of the mean loss") {
  const std::size_t batch = 6, classes = 10;
  auto logits = random_values(batch * classes, "logits");
  for (double& v : logits) v *= 3;
  const std::vector<std::uint8_t> labels = {0, 9, 3, 3, 7, 1};
  std::vector<double> d_logits(logits.size());
  softmax_cross_entropy(batch, classes, logits.data(), labels.data(), d_logits.data());
  check_gradient(logits, d_logits, [&] {
    double* none = nullptr;
    return softmax_cross_entropy(batch, classes, logits.data(), labels.data(), none).loss / batch;
  });
}

TEST_CASE("whole networks: gradient of every parameter") {
  const Network network = GENERATE(Network::mlp({9, 8, 6, 5}), Network::cnn(6, 7, {3}, {4}, 5),
                                   Network::cnn(16, 16, {2, 3}, {}, 5));
  const std::size_t batch = 4;
  auto params = random_values(network.layout().size(), "params");
  const auto inputs = random_values(batch * network.inputs(), "inputs");
  const std::vector<std::uint8_t> labels = {4, 0, 2, 2};
  Workspace<double> workspace(network, batch);
  std::copy(inputs.begin(), inputs.end(), workspace.input());
  workspace.differentiate(batch, params.data(), labels.data());
  const std::vector<double> gradient(workspace.gradient().begin(), workspace.gradient().end());
  check_gradient(params, gradient, [&] {
    return workspace.evaluate(batch, params.data(), labels.data()).loss / batch;
  });
}
