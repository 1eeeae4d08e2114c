// SPDX-License-Identifier: Apache-2.0
// bf16 and fp16 as 16 stored bits, and their conversions from and to fp32 in integer arithmetic
// without branches: the same bits on CPU and GPU, and loops over them vectorise. Widening is exact.
// Narrowing rounds to nearest even, or at random: up with the probability of the discarded part,
// which takes 16 random bits. Subnormals are kept on both sides.
#pragma once

#include <cstdint>

#include "kernels/core/host_device.hpp"

namespace hearsay::kernels {

HS_HD inline std::uint32_t float_bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }
HS_HD inline float bits_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline constexpr std::uint32_t kMagnitude = 0x7fffffffu, kInfinity = 0x7f800000u;

struct Bf16 {
  static constexpr std::uint32_t kMaxBits = 0x7f7f0000u;  // its largest finite value, as fp32
  std::uint16_t bits;
};

struct Fp16 {
  static constexpr std::uint32_t kMaxBits = 0x477fe000u;  // 65504
  std::uint16_t bits;
};

// Magnitude bits, as fp32, of the largest finite value that a type holds.
template <typename T>
inline constexpr std::uint32_t kMaxBitsOf = T::kMaxBits;
template <>
inline constexpr std::uint32_t kMaxBitsOf<float> = kInfinity - 1u;

HS_HD inline float widen(float x) { return x; }

HS_HD inline float widen(Bf16 x) { return bits_float(std::uint32_t{x.bits} << 16); }

HS_HD inline float widen(Fp16 x) {
  const std::uint32_t h = x.bits, sign = (h & 0x8000u) << 16, magnitude = (h & 0x7fffu) << 13;
  const std::uint32_t finite = float_bits(bits_float(magnitude) * 0x1p112f);  // exact
  return bits_float(sign | ((h & 0x7c00u) == 0x7c00u ? magnitude | kInfinity : finite));
}

HS_HD inline Bf16 nearest(float x, Bf16) {
  const std::uint32_t bits = float_bits(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & kMagnitude) > kInfinity;
  return {static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded)};
}

// The magnitude of x in units of fp16: ((exponent - 113) << 10) + mantissa >> shift, where shift
// bits of the mantissa are discarded. Below 2^-31 all is discarded.
struct Fp16Parts {
  std::uint32_t base, mantissa, shift;  // shift: 13 .. 30
};
HS_HD inline Fp16Parts fp16_parts(float x) {
  const std::uint32_t bits = float_bits(x) & kMagnitude, exponent = bits >> 23;
  const std::uint32_t mantissa = exponent >= 96u ? (bits & 0x7fffffu) | 0x800000u : 0u;
  const std::uint32_t bounded = exponent > 113u ? 113u : exponent < 96u ? 96u : exponent;
  return {exponent > 113u ? (exponent - 113u) << 10 : 0u, mantissa, 126u - bounded};
}

HS_HD inline Fp16 nearest(float x, Fp16) {
  const Fp16Parts p = fp16_parts(x);
  const std::uint32_t half = (1u << (p.shift - 1)) - 1u + ((p.mantissa >> p.shift) & 1u);
  const std::uint32_t rounded = p.base + ((p.mantissa + half) >> p.shift);
  const std::uint32_t bounded = rounded > 0x7c00u ? 0x7c00u : rounded;
  const bool is_nan = (float_bits(x) & kMagnitude) > kInfinity;
  return {
      static_cast<std::uint16_t>(((float_bits(x) >> 16) & 0x8000u) | (is_nan ? 0x7e00u : bounded))};
}

// `random`: 16 bits. |x| must not exceed kMaxBits. Exact in expectation for bf16 and for the
// normals of fp16; below those the probability is cut to 16 bits, so what is under 2^-40 goes to 0.
HS_HD inline Bf16 at_random(float x, std::uint32_t random, Bf16) {
  return {static_cast<std::uint16_t>((float_bits(x) + random) >> 16)};
}

HS_HD inline Fp16 at_random(float x, std::uint32_t random, Fp16) {
  const Fp16Parts p = fp16_parts(x);
  const std::uint32_t added = (random << 14) >> (30u - p.shift);
  const std::uint32_t rounded = p.base + ((p.mantissa + added) >> p.shift);
  return {static_cast<std::uint16_t>(((float_bits(x) >> 16) & 0x8000u) | rounded)};
}

}  // namespace hearsay::kernels
