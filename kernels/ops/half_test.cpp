// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/half.hpp"

#include <cmath>
#include <limits>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

// What a 16-bit pattern stands for, by the definition of the format and not by its layout in fp32.
double value_of(std::uint32_t bits, int mantissa_bits, int bias) {
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits & 0x7fffu) >> mantissa_bits);
  const double mantissa = bits & ((1u << mantissa_bits) - 1u), one = std::ldexp(1.0, mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(mantissa / one, 1 - bias);
  return sign * std::ldexp(1.0 + mantissa / one, exponent - bias);
}

// Neighbours x lies between, found by search over the finite magnitudes 0 .. max.
template <typename Half>
std::uint32_t below(float x, std::uint32_t max) {
  std::uint32_t low = 0, high = max;
  const double size = std::fabs(static_cast<double>(x));
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (static_cast<double>(widen(Half{static_cast<std::uint16_t>(middle)})) <= size) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <typename Half>
void check_rounding(float x, std::uint32_t max) {
  const std::uint32_t low = below<Half>(x, max), sign = std::signbit(x) ? 0x8000u : 0u;
  const auto magnitude = [](std::uint32_t bits) {
    return static_cast<double>(widen(Half{static_cast<std::uint16_t>(bits)}));
  };
  const double size = std::fabs(static_cast<double>(x));
  std::uint32_t expected = low;
  if (low < max) {
    const double to_low = size - magnitude(low), to_high = magnitude(low + 1) - size;
    if (to_high < to_low || (to_high == to_low && low % 2 == 1)) expected = low + 1;
  }
  CAPTURE(x, low);
  REQUIRE(nearest(x, Half{}).bits == (sign | expected));
  for (const std::uint32_t random : {0u, 1u, 0x7fffu, 0xffffu}) {
    const std::uint32_t got = at_random(x, random, Half{}).bits ^ sign;
    const bool is_exact = magnitude(low) == size;
    REQUIRE((got == low || (!is_exact && got == low + 1)));
    if (random == 0) REQUIRE(got == low);
  }
}

}  // namespace

TEST_CASE("every finite pattern of 16 bits widens to its value and rounds to itself") {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    if ((bits & 0x7f80u) != 0x7f80u) {
      const float x = widen(Bf16{pattern});
      REQUIRE(static_cast<double>(x) == value_of(bits, 7, 127));
      REQUIRE(nearest(x, Bf16{}).bits == bits);
      REQUIRE(at_random(x, 0xffffu, Bf16{}).bits == bits);
    }
    if ((bits & 0x7c00u) != 0x7c00u) {
      const float x = widen(Fp16{pattern});
      REQUIRE(static_cast<double>(x) == value_of(bits, 10, 15));
      REQUIRE(nearest(x, Fp16{}).bits == bits);
      REQUIRE(at_random(x, 0xffffu, Fp16{}).bits == bits);
    }
  }
}

TEST_CASE("what is between two patterns rounds to the nearer, or at random to one of both") {
  Rng rng = Rng::stream(5, "half");
  for (int i = 0; i < 20'000; ++i) {
    const float scale = std::ldexp(1.0f, static_cast<int>(rng.below(40)) - 30);
    const float x = static_cast<float>(rng.normal()) * scale;
    if (std::fabs(x) < 65504.0f && std::fabs(x) > 0x1p-36f) check_rounding<Fp16>(x, 0x7bffu);
    check_rounding<Bf16>(x, 0x7f7fu);
  }
  for (const float tie : {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 0x1p-25f, 3 * 0x1p-25f, 0x1p-14f})
    check_rounding<Fp16>(tie, 0x7bffu);
  for (const float tie : {1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, 0x1p-134f})
    check_rounding<Bf16>(tie, 0x7f7fu);
}

TEST_CASE("infinities, NaN and what is too large for the type") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  CHECK(widen(Fp16{0x7c00}) == infinity);
  CHECK(widen(Fp16{0xfc00}) == -infinity);
  CHECK(std::isnan(widen(Fp16{0x7e00})));
  CHECK(std::isnan(widen(Fp16{0x7c01})));
  CHECK(std::isnan(widen(Bf16{0x7f81})));
  CHECK(nearest(65519.0f, Fp16{}).bits == 0x7bff);
  CHECK(nearest(65520.0f, Fp16{}).bits == 0x7c00);
  CHECK(nearest(-1e30f, Fp16{}).bits == 0xfc00);
  CHECK(nearest(infinity, Fp16{}).bits == 0x7c00);
  CHECK(nearest(infinity, Bf16{}).bits == 0x7f80);
  CHECK(nearest(std::numeric_limits<float>::max(), Bf16{}).bits == 0x7f80);
  CHECK(std::isnan(widen(nearest(nan, Bf16{}))));
  CHECK(std::isnan(widen(nearest(nan, Fp16{}))));
}

TEST_CASE("the random rounding of a value is its value on average") {
  for (const float x : {1.0003f, -7.77e-5f, 0.3333f, 3.3e-6f}) {
    double bf16 = 0.0, fp16 = 0.0;
    for (std::uint32_t random = 0; random < 0x10000u; ++random) {
      bf16 += static_cast<double>(widen(at_random(x, random, Bf16{})));
      fp16 += static_cast<double>(widen(at_random(x, random, Fp16{})));
    }
    CHECK(bf16 / 65536.0 == Approx(static_cast<double>(x)).epsilon(1e-12));
    CHECK(fp16 / 65536.0 == Approx(static_cast<double>(x)).epsilon(1e-6));
  }
}
