// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/bench_scale.hpp"

#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("a pool whose peers know only those they met mixes as theory says") {
  const ScaleRow table = bench_scale_table(1500, 64, 30'000, 4);
  CHECK(table.merges >= 30'000);
  CHECK(table.measured == Approx(table.expected).epsilon(0.04));
  const ScaleRow clock = bench_scale_clock(1500, 64, 30'000, 4);
  CHECK(clock.merges >= 30'000);
  CHECK(clock.measured > 0.96 * clock.expected);
  CHECK(clock.measured < 1.04 * clock.expected_most);
}
