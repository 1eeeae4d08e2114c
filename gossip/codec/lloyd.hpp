// SPDX-License-Identifier: Apache-2.0
// Values in 1 to 3 bits: the nearest of 2, 4 or 8 levels that err least over normal values of
// deviation 1 (Max 1960, "Quantizing for minimum distortion", table I; Lloyd 1982), times a scale a
// block. Of a few scales around the block's root mean square the one that errs least is taken.
// Squared error of normal values: 0.363, 0.117, 0.035 of theirs. What lies far out is said smaller
// than it is, so these suit messages that are compared with each other (mirrored), or an error
// memory. One bit is the sign, times the mean magnitude (Seide et al. 2014; Bernstein et al. 2018,
// "signSGD"). Agreement: exact, whatever the pieces. Cost: 4 B read a value, its bits written; a
// few ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearsay::gossip {

struct LloydCode {
  unsigned bits = 3;         // 1, 2 or 3
  std::uint32_t block = 64;  // values a scale, a power of two from 32 to 256
};

inline std::size_t lloyd_scale_bytes(const LloydCode& code, std::size_t n) {
  return 2 * ((n + code.block - 1) / code.block);  // bf16
}
inline std::size_t lloyd_bytes(const LloydCode& code, std::size_t n) {
  return (n * code.bits + 7) / 8;
}

// A piece of a section: a multiple of the block, or its end. What is not finite counts as 0. Where
// `error` is not empty, it becomes what was not said (may be x).
void put_lloyd(const LloydCode& code, std::span<const float> x, std::span<std::uint8_t> levels,
               std::span<std::uint8_t> scales, std::span<float> error);

// Any bytes give some floats.
void get_lloyd(const LloydCode& code, std::span<const std::uint8_t> levels,
               std::span<const std::uint8_t> scales, std::span<float> y);

}  // namespace hearsay::gossip
