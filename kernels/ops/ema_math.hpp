// SPDX-License-Identifier: Apache-2.0
// One value of the EMA merge, for CPU and GPU, and the random numbers that store it.
#pragma once

#include "kernels/core/half.hpp"
#include "kernels/core/philox.hpp"

namespace hearsay::kernels {

struct EmaStep {
  float u;            // 0 where bad
  float w;            // as before where bad
  std::uint32_t bad;  // 0 or 1
};

// max_bits: magnitude bits of the largest value that w's type holds.
// kIsPlain: the caller knows that alpha is neither 0 nor 1.
template <bool kIsPlain = false>
HS_HD inline EmaStep ema_step(float alpha, float w, float v, std::uint32_t max_bits) {
  const float u = alpha * (v - w), sum = w + u;
  const float mixed = !kIsPlain && alpha == 1.0f ? v : sum;
  const float moved = !kIsPlain && alpha == 0.0f ? w : mixed;
  // Masks, not branches: the loop over this vectorises.
  const std::uint32_t u_bits = float_bits(u), moved_bits = float_bits(moved);
  const std::uint32_t bad = static_cast<std::uint32_t>((u_bits & kMagnitude) >= kInfinity) |
                            static_cast<std::uint32_t>((moved_bits & kMagnitude) > max_bits);
  const std::uint32_t skip = 0u - bad;
  return {bits_float(u_bits & ~skip), bits_float((float_bits(w) & skip) | (moved_bits & ~skip)),
          bad};
}

// Sixteen bits for each of values 8 * index8 .. 8 * index8 + 7, the lower half of a word first.
HS_HD inline PhiloxBlock rounding_bits(std::uint64_t index8, std::uint64_t seed, std::uint64_t id) {
  return philox_block(
      {{static_cast<std::uint32_t>(index8), static_cast<std::uint32_t>(index8 >> 32),
        static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

}  // namespace hearsay::kernels
