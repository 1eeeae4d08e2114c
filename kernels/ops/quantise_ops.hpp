// SPDX-License-Identifier: Apache-2.0
// Block absmax quantisation of fp32 to 8 or 4 bits. A block has one scale s = absmax / 127 (or /
// 7); q = floor(x / s + r) with r uniform in [0, 1) and of 15 bits, a pure function of (seed,
// stream, global index), or r = 1/2. Agreement: exact, the same bytes on CPU and GPU and for every
// cut into pieces at blocks. With random r, s * q has the mean x and lies within s of it; with r =
// 1/2, within s / 2 (both up to 2^-15 s: x / s is held with 15 bits after the point). Equal halves
// go up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearsay::kernels {

struct QuantiseSpec {
  std::uint32_t bits = 8;  // 8: q in -127..127, a byte; 4: q in -7..7, even index in the low nibble
  std::uint32_t block = 64;  // 32, 64, 128 or 256 values
  bool bf16_scales = false;  // scales rounded up to bf16, so that q stays in its range; else fp32
  bool stochastic = true;
  std::uint64_t seed = 0;    // key
  std::uint64_t stream = 0;  // upper half of the counter: a message, say
};

bool is_valid(const QuantiseSpec& spec);
std::size_t quantised_bytes(const QuantiseSpec& spec, std::size_t n);
std::size_t scale_bytes(const QuantiseSpec& spec, std::size_t n);  // little-endian fp32 or bf16

// x: values first .. first + n - 1 of an array (first is a multiple of the block; the last block
// may be partial). q, scales: quantised_bytes and scale_bytes. residual: empty, or n values that
// get x - s * q (two roundings); it may be x itself, nothing else overlaps. What is not finite is
// counted, sent as 0 and leaves 0. A block whose s is 0 or under 2^-113 is sent as zeros with scale
// 0 and stays in the residual. Returns the count. Traffic: 4 + bits/8 + (4 or 2)/block B per value,
// + 4 with residual.
std::uint64_t quantise(const QuantiseSpec& spec, std::uint64_t first, std::span<const float> x,
                       std::span<std::uint8_t> q, std::span<std::uint8_t> scales,
                       std::span<float> residual);

// y = s * q, one rounding. Any bytes give some floats: a scale that is not finite gives values that
// are not, for merge_stats to count. Traffic as quantise.
void dequantise(const QuantiseSpec& spec, std::span<const std::uint8_t> q,
                std::span<const std::uint8_t> scales, std::span<float> y);

}  // namespace hearsay::kernels
