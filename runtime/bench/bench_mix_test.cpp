// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_mix.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE(
    "one merge removes the share of disagreement that theory says, within five percent on a small "
    "sample") {
  const std::string protocol = GENERATE(as<std::string>{}, "push", "pairwise");
  const double alpha = GENERATE(0.5, 0.25);
  CAPTURE(protocol, alpha);
  const MixRow row = bench_contraction(protocol, 8, alpha, 1500, 3);
  CHECK(row.merges >= 1500);
  CHECK(std::fabs(row.error()) < 0.05);
}

TEST_CASE("push-sum keeps mass and weighted mean at every event, frames on their way included") {
  const MassRow row = bench_mass(8, 2000, 5);
  CHECK(row.merges >= 2000);
  CHECK(row.mass_error < 1e-6);
  CHECK(row.mean_error < 1e-6);
}
