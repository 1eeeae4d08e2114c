// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/optimizer_ops.hpp"

#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

TEST_CASE("SGD with momentum follows the textbook recursion in double") {
  const std::size_t n = 1003;
  Rng rng = Rng::stream(4, "sgd-test");
  std::vector<float> w(n), v(n), g(n);
  for (float& x : w) x = static_cast<float>(rng.normal());
  std::vector<double> wd(w.begin(), w.end()), vd(n, 0.0);
  for (int step = 0; step < 20; ++step) {
    for (float& x : g) x = static_cast<float>(rng.normal());
    sgd_momentum(0.05f, 0.9f, 0.5f, w, v, g);
    for (std::size_t i = 0; i < n; ++i) {
      vd[i] = 0.9 * vd[i] + 0.5 * g[i];
      wd[i] -= 0.05 * vd[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) REQUIRE(w[i] == Approx(wd[i]).margin(2e-5));
}

TEST_CASE("AdamW follows the textbook recursion in double") {
  const std::size_t n = 517;
  Rng rng = Rng::stream(4, "adam-test");
  std::vector<float> w(n), m(n), v(n), g(n);
  for (float& x : w) x = static_cast<float>(rng.normal());
  std::vector<double> wd(w.begin(), w.end()), md(n, 0.0), vd(n, 0.0);
  for (int t = 1; t <= 20; ++t) {
    for (float& x : g) x = static_cast<float>(rng.normal());
    const double c1 = 1 - std::pow(0.9, t), c2 = 1 - std::pow(0.999, t);
    adamw({1e-2f, 0.9f, 0.999f, 1e-8f, 0.01f, static_cast<float>(c1), static_cast<float>(c2)}, 1.0f,
          w, m, v, g);
    for (std::size_t i = 0; i < n; ++i) {
      md[i] = 0.9 * md[i] + 0.1 * g[i];
      vd[i] = 0.999 * vd[i] + 0.001 * g[i] * double(g[i]);
      wd[i] -= 1e-2 * (md[i] / c1 / (std::sqrt(vd[i] / c2) + 1e-8) + 0.01 * wd[i]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) REQUIRE(w[i] == Approx(wd[i]).margin(5e-5));
}

TEST_CASE("momentum without gradient dies out instead of becoming denormal") {
  std::vector<float> w(5, 1.0f), v(5, 1e-3f), g(5, 0.0f);
  for (int step = 0; step < 2000; ++step) sgd_momentum(0.1f, 0.9f, 1.0f, w, v, g);
  for (const float x : v) CHECK(x == 0.0f);
}
