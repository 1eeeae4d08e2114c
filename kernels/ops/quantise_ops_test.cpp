// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/quantise_ops.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/ops/quantise_math.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

struct Coded {
  std::vector<std::uint8_t> q, scales;
  std::vector<float> residual;
  std::uint64_t bad = 0;
};

Coded coded(const QuantiseSpec& spec, std::uint64_t first, std::span<const float> x) {
  Coded out{std::vector<std::uint8_t>(quantised_bytes(spec, x.size()), 0xA5),
            std::vector<std::uint8_t>(scale_bytes(spec, x.size()), 0xA5),
            std::vector<float>(x.size(), -7.0f), 0};
  out.bad = quantise(spec, first, x, out.q, out.scales, out.residual);
  return out;
}

std::vector<float> awkward_values(std::size_t n, bool with_bad) {
  auto rng = Rng::stream(3, "quantise-test");
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float size = rng.below(40) == 0 ? 1e6f : (i / 256 % 5 == 4 ? 1e-41f : 1.0f);
    x[i] = i / 256 % 7 == 6 ? 0.0f : static_cast<float>(rng.normal()) * size;
    if (with_bad && rng.below(300) == 0) x[i] = rng.below(2) == 0 ? -INFINITY : NAN;
  }
  return x;
}

float scale_of(const QuantiseSpec& spec, const Coded& from, std::size_t i) {
  const std::size_t b = i / spec.block;
  if (!spec.bf16_scales) {
    return bits_float(from.scales[4 * b] | std::uint32_t{from.scales[4 * b + 1]} << 8 |
                      std::uint32_t{from.scales[4 * b + 2]} << 16 |
                      std::uint32_t{from.scales[4 * b + 3]} << 24);
  }
  return bits_float(std::uint32_t{from.scales[2 * b]} << 16 | std::uint32_t{from.scales[2 * b + 1]}
                                                                  << 24);
}

int level_of(const QuantiseSpec& spec, const Coded& from, std::size_t i) {
  if (spec.bits == 8) return static_cast<std::int8_t>(from.q[i]);
  const int nibble = (from.q[i / 2] >> (i % 2 * 4)) & 15;
  return nibble >= 8 ? nibble - 16 : nibble;
}

}  // namespace

TEST_CASE("levels, scales and residuals are those of the definition, value by value") {
  QuantiseSpec spec;
  spec.bits = GENERATE(8u, 4u);
  spec.block = GENERATE(32u, 64u, 128u, 256u);
  spec.stochastic = GENERATE(false, true);
  spec.bf16_scales = GENERATE(false, true);
  spec.seed = 0x123456789ABCDEFull;
  spec.stream = 0xFEDCBA9876543210ull;
  const std::size_t n = GENERATE(0u, 1u, 31u, 33u, 255u, 4097u, 10'001u);
  const std::uint64_t first = GENERATE(std::uint64_t{0}, (std::uint64_t{1} << 35) - 512);
  CAPTURE(spec.bits, spec.block, spec.stochastic, spec.bf16_scales, n, first);
  const auto x = awkward_values(n, true);
  const Coded got = coded(spec, first, x);
  const int levels = spec.bits == 8 ? 127 : 7;
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float most = 0.0f;
    const std::size_t begin = i / spec.block * spec.block;
    for (std::size_t k = begin; k < std::min<std::size_t>(n, begin + spec.block); ++k) {
      if (std::isfinite(x[k])) most = std::max(most, std::fabs(x[k]));
    }
    const float s = scale_of(spec, got, i);
    const int level = level_of(spec, got, i);
    REQUIRE(std::abs(level) <= levels);
    if (!std::isfinite(x[i])) {
      ++bad;
      REQUIRE((level == 0 && got.residual[i] == 0.0f));
      continue;
    }
    REQUIRE(got.residual[i] == x[i] - s * static_cast<float>(level));
    if (most / static_cast<float>(levels) < 0x1p-113f) {
      REQUIRE((s == 0.0f && level == 0));
      continue;
    }
    REQUIRE(s >= most / static_cast<float>(levels));
    REQUIRE(s <= most / static_cast<float>(levels) * (spec.bf16_scales ? 1.0079f : 1.0f));
    const double quotient = static_cast<double>(x[i]) / static_cast<double>(s);
    double r = 0.5;
    if (spec.stochastic) {
      const auto word =
          philox4x32({static_cast<std::uint32_t>((first + i) / 8),
                      static_cast<std::uint32_t>((first + i) >> 35), 0x76543210u, 0xFEDCBA98u},
                     {0x89ABCDEFu, 0x01234567u})[(first + i) % 8 / 2];
      const std::uint32_t half = (first + i) % 2 == 0 ? word & 0xFFFFu : word >> 16;
      r = static_cast<double>(half >> 1) / 32768.0;
    }
    REQUIRE(std::fabs(static_cast<double>(level) - std::floor(quotient + r)) <= 1.0);
    // Off by one only where the sum lies within the rounding of x / s of an integer.
    if (static_cast<double>(level) != std::floor(quotient + r)) {
      REQUIRE(std::fabs(quotient + r - std::round(quotient + r)) <= 0x1p-15);
    }
  }
  REQUIRE(got.bad == bad);
}

TEST_CASE("pieces cut at blocks and a residual in place give the bytes of the whole") {
  QuantiseSpec spec;
  spec.bits = GENERATE(8u, 4u);
  spec.block = GENERATE(32u, 256u);
  const auto x = awkward_values(9001, true);
  const Coded whole = coded(spec, 512, x);
  Coded pieces{std::vector<std::uint8_t>(whole.q.size()),
               std::vector<std::uint8_t>(whole.scales.size()), x, 0};
  for (std::size_t begin = 0; begin < x.size(); begin += 768) {
    const std::size_t n = std::min<std::size_t>(768, x.size() - begin);
    const std::span<float> piece = std::span(pieces.residual).subspan(begin, n);
    pieces.bad += quantise(
        spec, 512 + begin, piece,
        std::span(pieces.q).subspan(begin * spec.bits / 8, quantised_bytes(spec, n)),
        std::span(pieces.scales).subspan(scale_bytes(spec, begin), scale_bytes(spec, n)), piece);
  }
  CHECK(pieces.q == whole.q);
  CHECK(pieces.scales == whole.scales);
  CHECK(pieces.residual == whole.residual);
  CHECK(pieces.bad == whole.bad);
}

TEST_CASE("no mantissa of the largest magnitude leaves the range") {
  const bool is_bf16 = GENERATE(false, true);
  const float levels = GENERATE(127.0f, 7.0f);
  std::uint64_t outside = 0;
  const auto most = static_cast<std::int32_t>(levels);
  for (std::uint32_t mantissa = 0; mantissa < (1u << 23); mantissa += is_bf16 ? 3 : 1) {
    const float x = bits_float(0x3F800000u | mantissa);
    const BlockScale by = block_scale(float_bits(x), levels, is_bf16);
    outside += quantised(x, by.multiplier, 32767) > most;
    outside += quantised(-x, by.multiplier, 0) < -most;
  }
  CHECK(outside == 0);
}

TEST_CASE("a scale by the inverse of the levels is the quotient") {
  const float levels = GENERATE(127.0f, 7.0f);
  std::uint64_t differing = 0;
  for (std::uint32_t mantissa = 0; mantissa < (1u << 23); ++mantissa) {
    const float most = bits_float(0x3F800000u | mantissa);
    differing += scale_by_inverse(most, levels, 1.0f / levels) != most / levels;
  }
  CHECK(differing == 0);
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x123457u, 0x600000u, 0x7FFFFEu, 0x7FFFFFu}) {
      const float most = bits_float(exponent << 23 | mantissa);
      const float by_inverse = scale_by_inverse(most, levels, 1.0f / levels);
      REQUIRE((by_inverse < 0x1p-113f) == (most / levels < 0x1p-113f));
      if (by_inverse >= 0x1p-113f) REQUIRE(by_inverse == most / levels);
    }
  }
}

TEST_CASE("offsets of eight values in a row are uniform, each alone and two together") {
  constexpr std::uint64_t kOctets = 1u << 16;
  std::vector<std::uint32_t> by_place(8 * 16, 0), by_pair(7 * 16, 0);
  for (std::uint64_t octet = 0; octet < kOctets; ++octet) {
    const PhiloxBlock words = quantise_words(octet, 7, 99);
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint32_t offset = quantise_offset(words, i);
      REQUIRE(offset < (1u << 15));
      ++by_place[i * 16 + (offset >> 11)];
      if (i > 0)
        ++by_pair[(i - 1) * 16 + (quantise_offset(words, i - 1) >> 13) * 4 + (offset >> 13)];
    }
  }
  // 4096 expected in each cell, of deviation 62.
  for (const std::uint32_t count : by_place) CHECK((count > 3786 && count < 4406));
  for (const std::uint32_t count : by_pair) CHECK((count > 3786 && count < 4406));
}

TEST_CASE("the mean over many seeds is the value, and only its two neighbours occur") {
  std::vector<float> x(32, 0.0f);
  auto rng = Rng::stream(5, "values");
  for (float& v : x) v = static_cast<float>(rng.normal());
  x[7] = 127.0f * 0.03125f;  // s = 1/32 exactly
  constexpr int kSeeds = 100'000;
  std::vector<double> sum(x.size(), 0.0);
  QuantiseSpec spec;
  spec.block = 32;
  std::vector<std::uint8_t> q(32), scales(4);
  for (int seed = 0; seed < kSeeds; ++seed) {
    spec.seed = static_cast<std::uint64_t>(seed);
    quantise(spec, 0, x, q, scales, {});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double level = static_cast<std::int8_t>(q[i]);
      sum[i] += level;
      REQUIRE(std::fabs(level - static_cast<double>(x[i]) * 32.0) < 1.0 + 0x1p-15);
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = static_cast<double>(x[i]) * 32.0, part = t - std::floor(t);
    const double deviation = std::sqrt(part * (1.0 - part) / kSeeds);
    CHECK(std::fabs(sum[i] / kSeeds - t) <= 4.5 * deviation + 0x1p-15);
  }
}

TEST_CASE("what was quantised comes back as scale times level") {
  QuantiseSpec spec;
  spec.bits = GENERATE(8u, 4u);
  spec.bf16_scales = GENERATE(false, true);
  const auto x = awkward_values(GENERATE(1u, 63u, 65u, 5001u), false);
  const Coded from = coded(spec, 0, x);
  std::vector<float> y(x.size(), NAN);
  dequantise(spec, from.q, from.scales, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    REQUIRE(y[i] == scale_of(spec, from, i) * static_cast<float>(level_of(spec, from, i)));
  }
}

TEST_CASE("every byte of int4 has two values, -8 included") {
  QuantiseSpec spec;
  spec.bits = 4;
  spec.block = 32;
  std::vector<std::uint8_t> q(256), scales(64, 0);
  for (std::size_t i = 0; i < 256; ++i) q[i] = static_cast<std::uint8_t>(i);
  for (std::size_t b = 0; b < 16; ++b) scales[4 * b + 3] = 0x40;  // 2.0
  std::vector<float> y(512);
  dequantise(spec, q, scales, y);
  for (int i = 0; i < 256; ++i) {
    const int low = (i & 15) >= 8 ? (i & 15) - 16 : i & 15,
              high = i >= 128 ? (i >> 4) - 16 : i >> 4;
    REQUIRE(y[static_cast<std::size_t>(2 * i)] == 2.0f * static_cast<float>(low));
    REQUIRE(y[static_cast<std::size_t>(2 * i + 1)] == 2.0f * static_cast<float>(high));
  }
}
