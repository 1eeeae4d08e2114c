// SPDX-License-Identifier: Apache-2.0
// Rows of at most 1024 values (kernels/core/tile_tree.hpp) between 16-bit types and fp32, for the
// merge kernels. All loops vectorise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/half.hpp"
#include "kernels/core/tile_tree.hpp"

namespace hearsay::kernels {

void widen_row(std::size_t n, const Bf16* in, float* out);
void widen_row(std::size_t n, const Fp16* in, float* out);

// Rounds x to w where x differs from what w stood for; returns how many bits patterns of w changed.
std::uint32_t store_nearest(std::size_t n, const float* x, const float* before, Bf16* w);
std::uint32_t store_nearest(std::size_t n, const float* x, const float* before, Fp16* w);
std::uint32_t store_random(std::size_t n, const float* x, const float* before,
                           const std::uint16_t* random, Bf16* w);
std::uint32_t store_random(std::size_t n, const float* x, const float* before,
                           const std::uint16_t* random, Fp16* w);

// Sixteen random bits for each of kRowValues values from `first` (a multiple of 8) on.
void fill_rounding_bits(std::uint64_t first, std::uint64_t seed, std::uint64_t id,
                        std::uint16_t* random);

// 4 * coarse_bin(x[i]) + i % 4: where a BinTable counts it.
void coarse_slots(std::size_t n, const float* x, std::uint32_t* slots);

}  // namespace hearsay::kernels
