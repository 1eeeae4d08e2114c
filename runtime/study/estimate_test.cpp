// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/estimate.hpp"

#include <cmath>
#include <vector>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("an interval is that of Student's t") {
  CHECK(estimate({}).n == 0);
  CHECK_FALSE(estimate(std::vector<double>{3.0}).half_width.has_value());
  const Estimate e = estimate(std::vector<double>{1.0, 2.0, 3.0, 4.0});
  CHECK(e.mean == Approx(2.5));
  // t(3, 0.975) = 3.18245, s = 1.29099
  CHECK(*e.half_width == Approx(3.18245 * 1.29099 / 2.0).epsilon(1e-5));
}
