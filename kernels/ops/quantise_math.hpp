// SPDX-License-Identifier: Apache-2.0
// What one value goes through in a block quantisation, for CPU and GPU alike. The quotient x / s is
// taken as x * (2^15 / s), a product rounded once by a quotient rounded once, and brought to 15
// bits after the point by adding 1.5 * 2^23; the rest is integer arithmetic. A value of the largest
// magnitude gives no more than levels * 2^15: the two roundings add less than a half, and a half
// goes to the even neighbour. So q needs no clamp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/host_device.hpp"
#include "kernels/core/philox.hpp"

namespace hearsay::kernels {

inline constexpr float kQuantisePoint = 32768.0f;     // 2^15: bits after the point
inline constexpr float kQuantiseShift = 12582912.0f;  // 1.5 * 2^23: its ulp is 1
inline constexpr std::uint32_t kQuantiseShiftBits = 0x4B400000u;
inline constexpr std::uint32_t kQuantiseHalf = 1u << 14;  // the offset of rounding to nearest
inline constexpr std::uint32_t kInfinityBits = 0x7F800000u;

HS_HD inline std::uint32_t float_bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }
HS_HD inline float bits_float(std::uint32_t u) { return __builtin_bit_cast(float, u); }

// Bits of |x|, which are ordered as magnitudes are; 0 for what is not finite.
HS_HD inline std::uint32_t magnitude_bits(float x) {
  const std::uint32_t bits = float_bits(x) & 0x7FFFFFFFu;
  return bits < kInfinityBits ? bits : 0u;
}

struct BlockScale {
  float scale;       // what is stored; 0 when the block is sent as zeros
  float multiplier;  // 2^15 / scale, or 0
};

// levels: 127 or 7. A magnitude so small that 2^15 / s is not finite (s < 2^-113) counts as zero.
HS_HD inline BlockScale block_scale(std::uint32_t most_bits, float levels, bool is_bf16) {
  float scale = bits_float(most_bits) / levels;
  if (is_bf16) scale = bits_float((float_bits(scale) + 0xFFFFu) & 0xFFFF0000u);
  const float multiplier = kQuantisePoint / scale;
  if (float_bits(multiplier) >= kInfinityBits) return {0.0f, 0.0f};
  return {scale, multiplier};
}

// most / levels rounded once, as block_scale has it, without a division: `inverse` is 1 / levels
// rounded once. Where the quotient is 2^-113 or more; below, what it gives is below too.
HS_HD inline float scale_by_inverse(float most, float levels, float inverse) {
  const float near = most * inverse;
  return __builtin_fmaf(__builtin_fmaf(-near, levels, most), inverse, near);
}

// x finite, of a magnitude that the scale was made for; offset < 2^15.
HS_HD inline std::int32_t quantised(float x, float multiplier, std::uint32_t offset) {
  const std::uint32_t fixed = float_bits(x * multiplier + kQuantiseShift) - kQuantiseShiftBits;
  return static_cast<std::int32_t>(fixed + offset) >> 15;
}

// Random words of the values 8 * octet .. 8 * octet + 7, two in each, the lower half first.
HS_HD inline PhiloxBlock quantise_words(std::uint64_t octet, std::uint64_t stream,
                                        std::uint64_t seed) {
  return philox_block(
      {{static_cast<std::uint32_t>(octet), static_cast<std::uint32_t>(octet >> 32),
        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

// Of a value's 16 bits the upper 15: as many as its quotient has after the point, so that levels
// have exactly the mean of what was brought to 15 bits.
HS_HD inline std::uint32_t quantise_offset(const PhiloxBlock& words, std::size_t index) {
  return words.word[index % 8 / 2] >> (index % 2 * 16 + 1) & 0x7FFFu;
}

}  // namespace hearsay::kernels
