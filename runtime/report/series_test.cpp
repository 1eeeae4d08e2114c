// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/series.hpp"

#include <cmath>
#include <vector>

#include "runtime/report/plot.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime::report {

TEST_CASE("a curve has values between its points and none outside") {
  const Curve curve{{1.0, 10.0}, {3.0, 20.0}};
  CHECK(*value_at(curve, 1.0) == Approx(10.0));
  CHECK(*value_at(curve, 2.0) == Approx(15.0));
  CHECK_FALSE(value_at(curve, 0.9));
  CHECK_FALSE(value_at(curve, 3.1));
  CHECK_FALSE(value_at({}, 1.0));
}

TEST_CASE("the mean of curves is taken where at least half of them have a value") {
  const Band band =
      band_of({{{0.0, 0.0}, {4.0, 4.0}}, {{2.0, 6.0}, {4.0, 8.0}}, {{2.0, 0.0}, {3.0, 0.0}}}, 5);
  REQUIRE(band.x.size() == 3);  // 2, 3, 4: before 2 there is one of three
  CHECK(band.x.front() == Approx(2.0));
  CHECK(band.mean.front() == Approx((2.0 + 6.0 + 0.0) / 3.0));
  CHECK(band.low.front() == Approx(0.0));
  CHECK(band.high.front() == Approx(6.0));
  CHECK(band.count.back() == 2);
  CHECK_FALSE(band.is_deciles);
  CHECK(band_of({}, 5).x.empty());
}

TEST_CASE("quantiles lie between the values") {
  CHECK(quantile({3.0, 1.0, 2.0}, 0.5) == Approx(2.0));
  CHECK(quantile({1.0, 2.0}, 0.5) == Approx(1.5));
  CHECK(quantile({1.0}, 0.9) == Approx(1.0));
  CHECK(std::isnan(quantile({}, 0.5)));
}

TEST_CASE("thinning keeps both ends and says its stride") {
  Curve curve;
  for (int i = 0; i < 100; ++i) curve.push_back({static_cast<double>(i), 0.0});
  const Curve kept = thinned(curve, 10);
  CHECK(kept.size() <= 11);
  CHECK(kept.front().x == 0.0);
  CHECK(kept.back().x == 99.0);
  CHECK(stride_for(0, 10) == 1);
  CHECK(stride_for(10, 10) == 1);
  CHECK(stride_for(11, 10) == 2);
  CHECK(stride_text(1, "merge") == "every merge");
  CHECK(stride_text(2, "merge") == "every 2nd merge");
  CHECK(stride_text(11, "merge") == "every 11th merge");
  CHECK(stride_text(23, "merge") == "every 23rd merge");
}

TEST_CASE("ticks are round and inside") {
  CHECK(round_ticks(0.0, 10.0, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  for (const double high : {1e-7, 0.3, 7.0, 1e12}) {
    const auto ticks = round_ticks(0.0, high, 8);
    CHECK(ticks.size() >= 3);
    CHECK(ticks.size() <= 12);
    CHECK(ticks.back() <= high * 1.0001);
  }
  CHECK(round_ticks(1.0, 1.0, 5).size() == 1);
}

}  // namespace hearsay::runtime::report
