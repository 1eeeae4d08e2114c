// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/rng.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/catch.hpp"

using hearsay::kernels::philox4x32;
using hearsay::kernels::Rng;

TEST_CASE("Philox gives the published known answers") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t f = 0xffffffff;
  CHECK(philox4x32({f, f, f, f}, {f, f}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream resumes at its position and differs by seed, purpose and peer") {
  Rng rng = Rng::stream(7, "epochs", 3);
  for (int i = 0; i < 13; ++i) rng.next_u32();
  Rng resumed = Rng::stream(7, "epochs", 3);
  resumed.seek(rng.position());
  for (int i = 0; i < 100; ++i) REQUIRE(rng.next_u32() == resumed.next_u32());

  const auto first = [](std::uint64_t seed, const char* purpose, std::uint32_t peer) {
    return Rng::stream(seed, purpose, peer).next_u64();
  };
  CHECK(first(7, "epochs", 3) != first(8, "epochs", 3));
  CHECK(first(7, "epochs", 3) != first(7, "partner", 3));
  CHECK(first(7, "epochs", 3) != first(7, "epochs", 4));
}

TEST_CASE(
    "Poisson draws have the right mean, variance and chance of zero on both sides of the method "
    "switch") {
  const double mean = GENERATE(0.25, 1.0, 2.0, 12.0, 29.9, 30.1, 117.0, 4000.0);
  CAPTURE(mean);
  Rng rng = Rng::stream(11, "poisson-test");
  const int n = 200'000;
  double sum = 0, sum2 = 0;
  int zeros = 0;
  for (int i = 0; i < n; ++i) {
    const double k = rng.poisson(mean);
    sum += k;
    sum2 += k * k;
    zeros += k == 0;
  }
  const double m = sum / n, variance = sum2 / n - m * m;
  CHECK(std::fabs(m - mean) < 5 * std::sqrt(mean / n));
  CHECK(std::fabs(variance / mean - 1.0) < 5 * std::sqrt((2.0 + 1.0 / mean) / n));
  const double p0 = std::exp(-mean);
  CHECK(std::fabs(zeros / double(n) - p0) < 5 * std::sqrt(p0 * (1 - p0) / n) + 1e-12);
}

TEST_CASE("uniform, normal, exponential and gamma have their first two moments") {
  Rng rng = Rng::stream(5, "moments");
  const int n = 200'000;
  const double shape = GENERATE(0.1, 0.3, 1.0, 4.5);
  CAPTURE(shape);
  double u = 0, z = 0, z2 = 0, e = 0, g = 0, g2 = 0;
  for (int i = 0; i < n; ++i) {
    u += rng.uniform();
    const double normal = rng.normal(), gamma = rng.gamma(shape);
    z += normal;
    z2 += normal * normal;
    e += rng.exponential();
    g += gamma;
    g2 += gamma * gamma;
  }
  CHECK(u / n == Approx(0.5).margin(0.005));
  CHECK(z / n == Approx(0.0).margin(0.012));
  CHECK(z2 / n == Approx(1.0).margin(0.02));
  CHECK(e / n == Approx(1.0).margin(0.015));
  CHECK(g / n == Approx(shape).epsilon(0.04));
  CHECK(g2 / n - (g / n) * (g / n) == Approx(shape).epsilon(0.08));
}

TEST_CASE("below() stays in range and is even over odd bounds; shuffle is a permutation") {
  Rng rng = Rng::stream(1, "below");
  std::vector<int> hits(7);
  for (int i = 0; i < 70'000; ++i) ++hits[rng.below(7)];
  for (const int h : hits) CHECK(h == Approx(10'000).margin(500));
  CHECK(rng.below(1) == 0);

  std::vector<std::uint32_t> items(1000);
  std::iota(items.begin(), items.end(), 0u);
  auto shuffled = items;
  rng.shuffle(shuffled);
  CHECK(shuffled != items);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == items);
}
