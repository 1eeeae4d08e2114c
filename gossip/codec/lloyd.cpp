// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/lloyd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/core/check.hpp"
#include "kernels/core/half.hpp"
#include "kernels/cpu/clones.hpp"

namespace hearsay::gossip {
namespace {

using kernels::Bf16;

constexpr std::size_t kGroup = 8;  // values that fill whole bytes
constexpr std::size_t kMostBlock = 256;
constexpr std::array<float, 4> kScales{0.8f, 1.0f, 1.25f, 1.6f};  // of the root mean square

// Magnitudes of the levels, and where the nearest one changes; what is not used lies out of reach.
struct Levels {
  float at[4];
  float above[3];
};

constexpr float kFar = std::numeric_limits<float>::infinity();  // nothing is above it
constexpr std::array<Levels, 3> kLevels{
    Levels{{0.79788456f, 0.79788456f, 0.79788456f, 0.79788456f}, {kFar, kFar, kFar}},
    Levels{{0.45278003f, 1.51041761f, 1.51041761f, 1.51041761f}, {0.98159882f, kFar, kFar}},
    Levels{{0.24509418f, 0.75600528f, 1.34390928f, 2.15194570f},
           {0.50054973f, 1.04995728f, 1.74792749f}}};

// Level of each value: the sign in the highest bit, then the magnitude.
HS_CLONES void levels_of(std::size_t n, const float* __restrict x, float per_scale,
                         const Levels& levels, unsigned sign_bit, std::uint8_t* __restrict to) {
  const float first = levels.above[0], second = levels.above[1], third = levels.above[2];
  for (std::size_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(x[i]) * per_scale;
    const int level = (magnitude > first) + (magnitude > second) + (magnitude > third);
    to[i] = static_cast<std::uint8_t>(level | (x[i] < 0.0f ? 1 << sign_bit : 0));
  }
}

void values_of(std::size_t n, const std::uint8_t* from, float scale, const Levels& levels,
               unsigned sign_bit, float* y) {
  float values[8];
  for (unsigned level = 0; level < 2u << sign_bit; ++level) {
    const float magnitude = levels.at[level & ((1u << sign_bit) - 1u)] * scale;
    values[level] = level >> sign_bit & 1u ? -magnitude : magnitude;
  }
  for (std::size_t i = 0; i < n; ++i) y[i] = values[from[i]];
}

// Squared error with this scale, in eight chains whatever the vectors of the machine.
HS_CLONES float error_of(std::size_t n, const float* __restrict x, float scale, float per_scale,
                         const Levels& levels) {
  const float first = levels.above[0], second = levels.above[1], third = levels.above[2];
  const float step1 = levels.at[1] - levels.at[0], step2 = levels.at[2] - levels.at[1],
              step3 = levels.at[3] - levels.at[2];
  float sums[kGroup] = {};
  for (std::size_t at = 0; at < n; at += kGroup) {
    for (std::size_t lane = 0; lane < kGroup; ++lane) {
      const float magnitude = std::fabs(x[at + lane]) * per_scale;
      const float level = levels.at[0] + (magnitude > first ? step1 : 0.0f) +
                          (magnitude > second ? step2 : 0.0f) + (magnitude > third ? step3 : 0.0f);
      const float off = (magnitude - level) * scale;
      sums[lane] += off * off;
    }
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

float rms_of(std::size_t n, const float* x) {
  double sums[4] = {};
  for (std::size_t i = 0; i < n; ++i) sums[i % 4] += static_cast<double>(x[i]) * x[i];
  const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return static_cast<float>(std::sqrt(sum / static_cast<double>(n)));
}

// Values of `bits` bits each, the first in the lowest bits.
void pack(const std::uint8_t* levels, std::size_t n, unsigned bits, std::uint8_t* to) {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < n; ++i) all |= std::uint32_t{levels[i]} << (i * bits);
  for (std::size_t b = 0; b < (n * bits + 7) / 8; ++b)
    to[b] = static_cast<std::uint8_t>(all >> (8 * b));
}

void unpack(const std::uint8_t* from, std::size_t n, unsigned bits, std::uint8_t* levels) {
  std::uint32_t all = 0;
  for (std::size_t b = 0; b < (n * bits + 7) / 8; ++b) all |= std::uint32_t{from[b]} << (8 * b);
  for (std::size_t i = 0; i < n; ++i)
    levels[i] = static_cast<std::uint8_t>(all >> (i * bits) & ((1u << bits) - 1u));
}

// Of these n values, with zeros up to a whole group behind them.
Bf16 best_scale(const LloydCode& code, std::size_t n, const float* x) {
  constexpr float kMost = __builtin_bit_cast(float, Bf16::kMaxBits) * 0.25f;  // levels stay finite
  const float rms = rms_of(n, x);
  const std::size_t whole = (n + kGroup - 1) / kGroup * kGroup;
  Bf16 best{};
  float least = 0.0f;
  for (const float factor : kScales) {
    const Bf16 trial = kernels::nearest(std::min(rms * factor, kMost), Bf16{});
    const float scale = kernels::widen(trial), per_scale = scale > 0.0f ? 1.0f / scale : 0.0f;
    const float error = error_of(whole, x, scale, per_scale, kLevels[code.bits - 1]);
    if (factor != kScales.front() && !(error < least)) continue;
    least = error;
    best = trial;
  }
  return best;
}

void check(const LloydCode& code, std::size_t n, std::size_t levels, std::size_t scales) {
  HS_CHECK(code.bits >= 1 && code.bits <= 3);
  HS_CHECK(code.block % kGroup == 0 && code.block <= kMostBlock);
  HS_CHECK(levels == lloyd_bytes(code, n) && scales == lloyd_scale_bytes(code, n));
}

}  // namespace

void put_lloyd(const LloydCode& code, std::span<const float> x, std::span<std::uint8_t> levels,
               std::span<std::uint8_t> scales, std::span<float> error) {
  check(code, x.size(), levels.size(), scales.size());
  const Levels& table = kLevels[code.bits - 1];
  for (std::size_t at = 0; at < x.size(); at += code.block) {
    const std::size_t n = std::min<std::size_t>(code.block, x.size() - at);
    float finite[kMostBlock] = {}, y[kMostBlock];
    std::uint8_t numbers[kMostBlock];
    for (std::size_t i = 0; i < n; ++i) finite[i] = std::isfinite(x[at + i]) ? x[at + i] : 0.0f;
    const Bf16 best = best_scale(code, n, finite);
    const float scale = kernels::widen(best);
    levels_of(n, finite, scale > 0.0f ? 1.0f / scale : 0.0f, table, code.bits - 1, numbers);
    std::memcpy(scales.data() + at / code.block * 2, &best.bits, 2);
    for (std::size_t i = 0; i < n; i += kGroup) {
      pack(numbers + i, std::min(kGroup, n - i), code.bits,
           levels.data() + (at + i) * code.bits / 8);
    }
    if (error.empty()) continue;
    values_of(n, numbers, scale, table, code.bits - 1, y);
    for (std::size_t i = 0; i < n; ++i) error[at + i] = finite[i] - y[i];
  }
}

void get_lloyd(const LloydCode& code, std::span<const std::uint8_t> levels,
               std::span<const std::uint8_t> scales, std::span<float> y) {
  check(code, y.size(), levels.size(), scales.size());
  for (std::size_t at = 0; at < y.size(); at += code.block) {
    const std::size_t n = std::min<std::size_t>(code.block, y.size() - at);
    Bf16 scale;
    std::memcpy(&scale.bits, scales.data() + at / code.block * 2, 2);
    std::uint8_t numbers[kMostBlock];
    for (std::size_t i = 0; i < n; i += kGroup) {
      unpack(levels.data() + (at + i) * code.bits / 8, std::min(kGroup, n - i), code.bits,
             numbers + i);
    }
    values_of(n, numbers, kernels::widen(scale), kLevels[code.bits - 1], code.bits - 1,
              y.data() + at);
  }
}

}  // namespace hearsay::gossip
