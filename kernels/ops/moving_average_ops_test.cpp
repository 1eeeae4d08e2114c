// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/moving_average_ops.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/ops/ema_math.hpp"
#include "kernels/ops/merge_test_data.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

std::vector<float> sizes_of(std::size_t n, const char* purpose) {
  auto values = test_values(n, purpose);
  for (float& v : values) v = std::fabs(v);
  return values;
}

}  // namespace

TEST_CASE("averages, mask and counts, a value at a time") {
  const std::size_t n = GENERATE(from_range(kTestSizes));
  const bool is_squared = GENERATE(false, true);
  const float tau = GENERATE(0.0f, 0.7f, 1e4f);
  CAPTURE(n, is_squared, tau);
  auto ma = sizes_of(n, "ma");
  auto g = test_values(n, "g");
  poison(g, 89);
  auto expected = ma;
  std::vector<std::uint32_t> mask((n + 31) / 32, ~0u), expected_mask(mask.size());
  const float beta = 0.9f;
  const volatile float rest = 1.0f - beta;
  std::uint64_t bad = 0, kept = 0, inside = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const volatile float square = g[i] * g[i], old = beta * ma[i];
    const volatile float fresh = rest * (is_squared ? square : std::fabs(g[i]));
    const volatile float mixed = old + fresh;
    if (std::isfinite(mixed)) {
      expected[i] = mixed;
    } else {
      ++bad;
    }
    kept += expected[i] >= tau;
    inside += tau > 0 && expected[i] >= 0.8f * tau && expected[i] < 1.25f * tau;
    if (expected[i] >= tau) expected_mask[i / 32] |= 1u << (i % 32);
  }
  FakeWorkers many(3);
  const MovingRule rule{beta, is_squared, 0, 0, n / 10, tau};
  const MovingResult result = moving_average(std::span(ma), g, mask, rule, many);
  CHECK(same_bits(ma, expected));
  CHECK(mask == expected_mask);
  CHECK(result.bad == bad);
  CHECK(result.kept == kept);
  std::uint64_t coarse = 0, zoom = 0;
  for (const std::uint64_t count : result.coarse) coarse += count;
  for (const std::uint64_t count : result.zoom) zoom += count;
  CHECK(coarse == n);
  CHECK(zoom == inside);
}

TEST_CASE("the threshold keeps the wanted number: coarse at first, then within a zoom bin") {
  constexpr std::size_t n = 1'000'000;
  const std::uint64_t keep = GENERATE(1'000u, 10'000u, 100'000u);
  auto ma = sizes_of(n, "ma");
  const std::vector<float> g(n, 0.0f);
  OneWorker alone;
  MovingRule rule{1.0f, false, 0, 0, keep, 0.0f};  // beta 1: the averages stay
  MovingResult result = moving_average(std::span(ma), g, {}, rule, alone);
  const auto kept_by = [&](float tau) {
    return static_cast<double>(
        std::count_if(ma.begin(), ma.end(), [&](float x) { return x >= tau; }));
  };
  CHECK(kept_by(result.tau) == Approx(static_cast<double>(keep)).epsilon(0.15));
  for (int step = 0; step < 2; ++step) {
    rule.last_tau = result.tau;
    const double expected = kept_by(result.tau);
    result = moving_average(std::span(ma), g, {}, rule, alone);
    CHECK(static_cast<double>(result.kept) == expected);
  }
  // A zoom bin is 0.045 % of tau wide: at most 5 per mille of the rank, and a few ties.
  CHECK(kept_by(result.tau) == Approx(static_cast<double>(keep)).epsilon(0.005).margin(2.0));
}

TEST_CASE("a rank outside the window is found in a coarse bin") {
  std::vector<float> ma(10'000);
  for (std::size_t i = 0; i < ma.size(); ++i) ma[i] = static_cast<float>(i + 1);
  const std::vector<float> g(ma.size(), 0.0f);
  OneWorker alone;
  for (const float last_tau : {5.0f, 9'900.0f, 1e-35f, 1e35f}) {
    const MovingRule rule{1.0f, false, 0, 0, 5'000, last_tau};
    CHECK(moving_average(std::span(ma), g, {}, rule, alone).tau == Approx(5'000.0f).epsilon(0.01));
  }
  std::vector<float> none;
  const MovingRule rule{1.0f, false, 0, 0, 5, 2.5f};
  CHECK(moving_average(std::span(none), std::span<const float>{}, {}, rule, alone).tau == 2.5f);
}

TEST_CASE("all equal, one value, and ranks beyond both ends") {
  OneWorker alone;
  for (const std::size_t n : {std::size_t{1}, std::size_t{5'000}}) {
    for (const std::uint64_t keep : {0ull, 1ull, 2'500ull, 1'000'000ull}) {
      std::vector<float> ma(n, 0.75f);
      const std::vector<float> g(n, 0.0f);
      MovingRule rule{1.0f, false, 0, 0, keep, 0.0f};
      for (int step = 0; step < 3; ++step)
        rule.last_tau = moving_average(std::span(ma), g, {}, rule, alone).tau;
      CHECK(rule.last_tau == Approx(0.75f).epsilon(0.001));
    }
  }
}

TEST_CASE("bf16 averages are stored at random by index, whatever the workers") {
  const std::size_t n = GENERATE(1u, 1025u, 9001u);
  auto ma = stored_as<Bf16>(sizes_of(n, "ma"));
  const auto g = test_values(n, "g");
  auto expected = ma;
  const MovingRule rule{0.99f, false, 77, 5, n / 4, 0.5f};
  std::uint64_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const MovingStep step =
        moving_step(widen(ma[i]), g[i], rule.beta, 1.0f - rule.beta, false, Bf16::kMaxBits);
    const PhiloxBlock block = rounding_bits(i / 8, rule.seed, rule.step);
    const std::uint32_t random = (block.word[i % 8 / 2] >> (16 * (i % 2))) & 0xffffu;
    expected[i] = at_random(step.ma, random, Bf16{});
    kept += widen(expected[i]) >= rule.last_tau;
  }
  FakeWorkers many(4);
  CHECK(moving_average(std::span(ma), g, {}, rule, many).kept == kept);
  CHECK(same_bits(ma, expected));
}
