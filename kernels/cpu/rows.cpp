// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/rows.hpp"

#include <bit>
#include <cstring>

#include "kernels/cpu/clones.hpp"
#include "kernels/ops/ema_math.hpp"
#include "kernels/ops/magnitude_bins.hpp"

namespace hearsay::kernels {
namespace {

template <typename Half, typename Round>
[[gnu::always_inline]] inline std::uint32_t store_row(std::size_t n, const float* x,
                                                      const float* before, Half* w,
                                                      const Round& rounded) {
  std::uint32_t changed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t old = w[i].bits;
    const std::uint32_t moved = rounded(i).bits;
    const std::uint32_t now = float_bits(x[i]) == float_bits(before[i]) ? old : moved;
    changed += now != old;
    w[i].bits = static_cast<std::uint16_t>(now);
  }
  return changed;
}

struct PhiloxLane {
  std::uint32_t a, b, c, d;
};

// Rounds of kernels/core/philox.hpp without a loop, which the vectoriser would not look through.
template <std::uint32_t kRound>
[[gnu::always_inline]] inline void one_round(PhiloxLane& x, std::uint32_t key0,
                                             std::uint32_t key1) {
  const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x.a;
  const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * x.c;
  const std::uint32_t a =
      static_cast<std::uint32_t>(p1 >> 32) ^ x.b ^ (key0 + kRound * 0x9E3779B9u);
  const std::uint32_t c =
      static_cast<std::uint32_t>(p0 >> 32) ^ x.d ^ (key1 + kRound * 0xBB67AE85u);
  x = {a, static_cast<std::uint32_t>(p1), c, static_cast<std::uint32_t>(p0)};
}
template <std::uint32_t kRound>
[[gnu::always_inline]] inline void two_rounds(PhiloxLane& x, std::uint32_t key0,
                                              std::uint32_t key1) {
  one_round<kRound>(x, key0, key1);
  one_round<kRound + 1>(x, key0, key1);
}

}  // namespace

HS_CLONES void widen_row(std::size_t n, const Bf16* __restrict in, float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = widen(in[i]);
}

HS_CLONES void widen_row(std::size_t n, const Fp16* __restrict in, float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = widen(in[i]);
}

HS_CLONES std::uint32_t store_nearest(std::size_t n, const float* __restrict x,
                                      const float* __restrict before, Bf16* __restrict w) {
  return store_row(n, x, before, w, [&](std::size_t i) { return nearest(x[i], Bf16{}); });
}

HS_CLONES std::uint32_t store_nearest(std::size_t n, const float* __restrict x,
                                      const float* __restrict before, Fp16* __restrict w) {
  return store_row(n, x, before, w, [&](std::size_t i) { return nearest(x[i], Fp16{}); });
}

HS_CLONES std::uint32_t store_random(std::size_t n, const float* __restrict x,
                                     const float* __restrict before,
                                     const std::uint16_t* __restrict random, Bf16* __restrict w) {
  return store_row(n, x, before, w,
                   [&](std::size_t i) { return at_random(x[i], random[i], Bf16{}); });
}

HS_CLONES std::uint32_t store_random(std::size_t n, const float* __restrict x,
                                     const float* __restrict before,
                                     const std::uint16_t* __restrict random, Fp16* __restrict w) {
  return store_row(n, x, before, w,
                   [&](std::size_t i) { return at_random(x[i], random[i], Fp16{}); });
}

HS_CLONES void coarse_slots(std::size_t n, const float* __restrict x,
                            std::uint32_t* __restrict slots) {
  for (std::size_t i = 0; i < n; ++i)
    slots[i] = 4 * coarse_bin(x[i]) + static_cast<std::uint32_t>(i % 4);
}

// One block an iteration, rounds unrolled, so that blocks lie side by side in lanes. All fill a
// row: one loop for rows of any length.
HS_CLONES void fill_rounding_bits(std::uint64_t first, std::uint64_t seed, std::uint64_t id,
                                  std::uint16_t* random) {
  constexpr std::size_t kBlocks = kRowValues / 8;
  alignas(64) std::uint32_t words[4 * kBlocks], lanes[4][kBlocks];
  const std::uint64_t first8 = first / 8;
  // The upper half of an index is the same in a row unless the lower half wraps: then block by
  // block.
  const auto low = static_cast<std::uint32_t>(first8),
             high = static_cast<std::uint32_t>(first8 >> 32);
  if (low > 0xffffffffu - kBlocks) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const PhiloxBlock block = rounding_bits(first8 + i, seed, id);
      std::memcpy(words + 4 * i, block.word, sizeof block.word);
    }
  } else {
    for (std::uint32_t i = 0; i < kBlocks; ++i) {
      PhiloxLane lane{low + i, high, static_cast<std::uint32_t>(id),
                      static_cast<std::uint32_t>(id >> 32)};
      const auto key0 = static_cast<std::uint32_t>(seed);
      const auto key1 = static_cast<std::uint32_t>(seed >> 32);
      two_rounds<0>(lane, key0, key1);
      two_rounds<2>(lane, key0, key1);
      two_rounds<4>(lane, key0, key1);
      two_rounds<6>(lane, key0, key1);
      two_rounds<8>(lane, key0, key1);
      lanes[0][i] = lane.a;
      lanes[1][i] = lane.b;
      lanes[2][i] = lane.c;
      lanes[3][i] = lane.d;
    }
    for (std::size_t i = 0; i < kBlocks; ++i) {
      words[4 * i] = lanes[0][i];
      words[4 * i + 1] = lanes[1][i];
      words[4 * i + 2] = lanes[2][i];
      words[4 * i + 3] = lanes[3][i];
    }
  }
  static_assert(std::endian::native == std::endian::little);  // the lower half of a word is first
  std::memcpy(random, words, sizeof words);
}

}  // namespace hearsay::kernels
