// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/alias_table.hpp"

#include <cmath>

#include "tests/catch.hpp"

using hearsay::kernels::Rng;
using hearsay::runtime::AliasTable;

TEST_CASE("an alias table draws each index as often as its weight says") {
  const std::vector<double> weights{0.0, 1.0, 5.0, 0.25, 0.0, 3.75};
  const AliasTable table(weights);
  Rng rng = Rng::stream(5, "alias-test");
  constexpr int kDraws = 200'000;
  std::vector<int> drawn(weights.size());
  for (int i = 0; i < kDraws; ++i) ++drawn[table.draw(rng)];
  CHECK(drawn[0] == 0);
  CHECK(drawn[4] == 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / 10.0, deviation = std::sqrt(kDraws * p * (1.0 - p));
    CHECK(std::abs(drawn[i] - kDraws * p) <= 5.0 * deviation);
  }
}

TEST_CASE("an alias table of one, of equals, and of very unequal weights") {
  Rng rng = Rng::stream(6, "alias-test");
  const AliasTable one(std::vector<double>{0.3});
  CHECK(one.draw(rng) == 0);
  const AliasTable equal(std::vector<double>(7, 0.1));
  std::vector<int> drawn(7);
  for (int i = 0; i < 7000; ++i) ++drawn[equal.draw(rng)];
  for (const int count : drawn) CHECK(std::abs(count - 1000) < 200);
  std::vector<double> unequal(1000, 0.0);
  unequal[123] = 1e-3;
  const AliasTable only(unequal);
  for (int i = 0; i < 2000; ++i) REQUIRE(only.draw(rng) == 123);
}
