// SPDX-License-Identifier: Apache-2.0
#include "gossip/convergence.hpp"

#include <cmath>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using hearsay::kernels::Rng;

TEST_CASE("Theil-Sen ignores one wild value, least squares reports its error") {
  const std::vector<double> line = {0, 2, 4, 600, 8, 10, 12};
  CHECK(theil_sen_slope(line) == Approx(2.0));
  CHECK(theil_sen_slope(std::vector<double>{3}) == 0.0);
  const LineFit exact = least_squares(std::vector<double>{1, 3, 5, 7});
  CHECK(exact.slope == Approx(2.0));
  CHECK(exact.slope_error == Approx(0.0).margin(1e-12));
  CHECK(least_squares(line).slope_error > 10);
}

TEST_CASE("falling validation loss is not convergence, a flat noisy one is") {
  Rng rng = Rng::stream(2, "convergence-test");
  ConvergenceMonitor falling, flat;
  for (int merge = 0; merge < 20; ++merge) {
    const double noise = 0.02 * rng.normal();
    falling.add_merge(1.0 + noise, 0.2 + 0.1 * noise, 1.0 - 0.05 * merge + 0.001 * noise);
    flat.add_merge(1.0 + noise, 0.2 + 0.1 * noise, 0.4 + 0.01 * rng.normal());
    if (merge < 15) CHECK_FALSE(flat.converged());  // the window is not full
  }
  CHECK_FALSE(falling.converged());
  CHECK(flat.converged());
}

TEST_CASE("models that still drift apart or move faster are not converged") {
  ConvergenceMonitor drifting;
  for (int merge = 0; merge < 20; ++merge) {
    drifting.add_merge(std::exp(0.1 * merge), 0.2, 0.4);
  }
  CHECK_FALSE(drifting.converged());
}

TEST_CASE("rising validation loss lets the peer stop: it got worse, not better") {
  ConvergenceMonitor monitor;
  for (int merge = 0; merge < 16; ++merge) monitor.add_merge(1.0, 0.2, 0.4 + 0.01 * merge);
  CHECK(monitor.converged());
}
