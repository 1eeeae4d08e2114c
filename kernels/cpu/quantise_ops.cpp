// SPDX-License-Identifier: Apache-2.0
// Whole blocks without bad values go through AVX2 where the machine has it: eight Philox counters
// at a time, each in a 64-bit lane, where vpmuludq needs its factor and leaves high and low word.
// All else goes value by value; the bits are the same. Random words cost most of the time.
#include "kernels/ops/quantise_ops.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/philox_lanes.hpp"
#include "kernels/ops/quantise_math.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kMostBlock = 256;

float levels_of(const QuantiseSpec& spec) { return spec.bits == 8 ? 127.0f : 7.0f; }

void put_nibble(std::uint8_t* q, std::size_t i, std::int32_t value) {
  const auto nibble = static_cast<std::uint32_t>(value) & 15u;
  if (i % 2 == 0) {
    q[i / 2] = static_cast<std::uint8_t>(nibble);
  } else {
    q[i / 2] = static_cast<std::uint8_t>(q[i / 2] | nibble << 4);
  }
}

// One block, or the part of one at the end. `index`: global, of x[0].
std::uint64_t block_by_value(const QuantiseSpec& spec, std::uint64_t index, std::size_t n,
                             const float* x, const BlockScale& by, std::uint8_t* q,
                             float* residual) {
  std::uint64_t bad = 0;
  PhiloxBlock words{};
  for (std::size_t i = 0; i < n; ++i) {
    if (spec.stochastic && i % 8 == 0)
      words = quantise_words((index + i) / 8, spec.stream, spec.seed);
    const std::uint32_t offset = spec.stochastic ? quantise_offset(words, i) : kQuantiseHalf;
    const bool is_bad = (float_bits(x[i]) & kInfinityBits) == kInfinityBits;
    const float value = is_bad ? 0.0f : x[i];
    bad += is_bad;
    const std::int32_t level = quantised(value, by.multiplier, offset);
    if (spec.bits == 8) {
      q[i] = static_cast<std::uint8_t>(level);
    } else {
      put_nibble(q, i, level);
    }
    if (residual != nullptr) residual[i] = value - by.scale * static_cast<float>(level);
  }
  return bad;
}

std::uint32_t most_bits_by_value(std::size_t n, const float* x) {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, magnitude_bits(x[i]));
  return most;
}

#if defined(__x86_64__)
// Bits of the largest magnitude of a whole block; infinity or more when a value is not finite.
HS_AVX2_INLINE std::uint32_t most_bits_avx2(std::size_t block, const float* x) {
  const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i most = _mm256_setzero_si256();
  for (std::size_t i = 0; i < block; i += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    most = _mm256_max_epu32(most, _mm256_and_si256(bits, mask));
  }
  __m128i half = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
  half = _mm_max_epu32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_max_epu32(half, _mm_shuffle_epi32(half, 0xB1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(half));
}

HS_AVX2_INLINE void store_levels(const __m256i* level, std::uint32_t bits, std::uint8_t* q) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i packed =
      _mm256_permutevar8x32_epi32(_mm256_packs_epi16(_mm256_packs_epi32(level[0], level[1]),
                                                     _mm256_packs_epi32(level[2], level[3])),
                                  order);
  if (bits == 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), packed);
    return;
  }
  const __m256i nibbles = _mm256_and_si256(packed, _mm256_set1_epi8(15));
  const __m256i pairs = _mm256_maddubs_epi16(nibbles, _mm256_set1_epi16(0x1001));
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(q), bytes);
}

// The offsets of 64 values in a row, kept from one block of 32 to the next.
struct Offsets {
  PhiloxKeys keys;
  std::uint64_t high;  // upper half of the counters
  std::uint64_t at;    // of the values 64 * at and on
  alignas(32) std::uint16_t value[64];
};

HS_AVX2_INLINE const std::uint16_t* offsets_of_32(Offsets& held, std::uint64_t index) {
  if (held.at != index / 64) {
    held.at = index / 64;
    __m256i words[4];
    philox_32_words(held.at * 8, held.high, held.keys, words);
    for (std::size_t w = 0; w < 4; ++w) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(held.value + 16 * w),
                         _mm256_srli_epi16(words[w], 1));
    }
  }
  return held.value + index % 64;
}

template <bool kResidual>
HS_AVX2_INLINE void block_avx2(const QuantiseSpec& spec, Offsets& held, std::uint64_t index,
                               const float* x, const BlockScale& by, std::uint8_t* q,
                               float* residual) {
  const __m256 multiplier = _mm256_set1_ps(by.multiplier), scale = _mm256_set1_ps(by.scale);
  const __m256 shift = _mm256_set1_ps(kQuantiseShift);
  const __m256i shift_bits = _mm256_set1_epi32(static_cast<int>(kQuantiseShiftBits));
  __m256i offset[4], level[4];
  for (__m256i& each : offset) each = _mm256_set1_epi32(static_cast<int>(kQuantiseHalf));
  for (std::size_t i = 0; i < spec.block; i += 32) {
    if (spec.stochastic) {
      const std::uint16_t* const values = offsets_of_32(held, index + i);
      for (std::size_t g = 0; g < 4; ++g) {
        offset[g] =
            _mm256_cvtepu16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(values + 8 * g)));
      }
    }
    for (std::size_t g = 0; g < 4; ++g) {
      const __m256 value = _mm256_loadu_ps(x + i + 8 * g);
      const __m256 sum = _mm256_add_ps(_mm256_mul_ps(value, multiplier), shift);
      const __m256i fixed = _mm256_sub_epi32(_mm256_castps_si256(sum), shift_bits);
      level[g] = _mm256_srai_epi32(_mm256_add_epi32(fixed, offset[g]), 15);
      if constexpr (kResidual) {
        const __m256 sent = _mm256_mul_ps(scale, _mm256_cvtepi32_ps(level[g]));
        _mm256_storeu_ps(residual + i + 8 * g, _mm256_sub_ps(value, sent));
      }
    }
    store_levels(level, spec.bits, q + i * spec.bits / 8);
  }
}
#endif

// All blocks of a call, by values or (whole ones without bad values) by vectors.
struct Blocks {
  const QuantiseSpec& spec;
  std::uint64_t first;
  std::span<const float> x;
  std::uint8_t* q;
  std::uint8_t* scales;
  float* residual;  // may be null

  void put_scale(std::size_t block, float scale) const {
    const std::uint32_t bits = float_bits(scale);
    if (spec.bf16_scales) {
      const auto upper = static_cast<std::uint16_t>(bits >> 16);
      std::memcpy(scales + 2 * block, &upper, sizeof(upper));
    } else {
      std::memcpy(scales + 4 * block, &bits, sizeof(bits));
    }
  }

  std::uint64_t by_value(std::size_t b) const {
    const std::size_t begin = b * spec.block,
                      n = std::min<std::size_t>(spec.block, x.size() - begin);
    const BlockScale by =
        block_scale(most_bits_by_value(n, x.data() + begin), levels_of(spec), spec.bf16_scales);
    put_scale(b, by.scale);
    return block_by_value(spec, first + begin, n, x.data() + begin, by, q + begin * spec.bits / 8,
                          residual != nullptr ? residual + begin : nullptr);
  }
};

std::uint64_t all_by_value(const Blocks& blocks) {
  std::uint64_t bad = 0;
  const std::size_t count = (blocks.x.size() + blocks.spec.block - 1) / blocks.spec.block;
  for (std::size_t b = 0; b < count; ++b) bad += blocks.by_value(b);
  return bad;
}

#if defined(__x86_64__)
template <bool kResidual>
HS_AVX2 std::uint64_t all_avx2(const Blocks& blocks) {
  const QuantiseSpec spec = blocks.spec;
  Offsets held{philox_keys(spec.seed), spec.stream, ~std::uint64_t{0}, {}};
  const std::size_t whole = blocks.x.size() / spec.block;
  const float levels = levels_of(spec);
  std::uint64_t bad = 0;
  for (std::size_t b = 0; b < whole; ++b) {
    const std::size_t begin = b * spec.block;
    const float* const x = blocks.x.data() + begin;
    const std::uint32_t most = most_bits_avx2(spec.block, x);
    if (most >= kInfinityBits) {
      bad += blocks.by_value(b);
      continue;
    }
    const BlockScale by = block_scale(most, levels, spec.bf16_scales);
    blocks.put_scale(b, by.scale);
    block_avx2<kResidual>(spec, held, blocks.first + begin, x, by, blocks.q + begin * spec.bits / 8,
                          blocks.residual + (kResidual ? begin : 0));
  }
  if (whole * spec.block < blocks.x.size()) bad += blocks.by_value(whole);
  return bad;
}
#endif

HS_CLONES void values_of_bytes(std::size_t n, float scale, const std::int8_t* __restrict q,
                               float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = scale * static_cast<float>(q[i]);
}

// Values 2i and 2i + 1 of each byte.
HS_CLONES void values_of_nibbles(std::size_t pairs, float scale, const std::uint8_t* __restrict q,
                                 float* __restrict y) {
  for (std::size_t i = 0; i < pairs; ++i) {
    y[2 * i] = scale * static_cast<float>(static_cast<std::int32_t>((q[i] & 15u) ^ 8u) - 8);
    y[2 * i + 1] = scale * static_cast<float>(static_cast<std::int32_t>((q[i] >> 4u) ^ 8u) - 8);
  }
}

float scale_at(bool is_bf16, const std::uint8_t* scales, std::size_t block) {
  std::uint32_t bits = 0;
  if (is_bf16) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, scales + 2 * block, sizeof(upper));
    bits = static_cast<std::uint32_t>(upper) << 16;
  } else {
    std::memcpy(&bits, scales + 4 * block, sizeof(bits));
  }
  return bits_float(bits);
}

}  // namespace

bool is_valid(const QuantiseSpec& spec) {
  return (spec.bits == 8 || spec.bits == 4) && spec.block >= 32 && spec.block <= kMostBlock &&
         (spec.block & (spec.block - 1)) == 0;
}

std::size_t quantised_bytes(const QuantiseSpec& spec, std::size_t n) {
  return spec.bits == 8 ? n : n / 2 + n % 2;
}

std::size_t scale_bytes(const QuantiseSpec& spec, std::size_t n) {
  return (n / spec.block + (n % spec.block != 0)) * (spec.bf16_scales ? 2 : 4);
}

std::uint64_t quantise(const QuantiseSpec& spec, std::uint64_t first, std::span<const float> x,
                       std::span<std::uint8_t> q, std::span<std::uint8_t> scales,
                       std::span<float> residual) {
  HS_CHECK(is_valid(spec) && first % spec.block == 0);
  HS_CHECK(q.size() == quantised_bytes(spec, x.size()));
  HS_CHECK(scales.size() == scale_bytes(spec, x.size()));
  HS_CHECK(residual.empty() || residual.size() == x.size());
  const Blocks blocks{spec,     first,         x,
                      q.data(), scales.data(), residual.empty() ? nullptr : residual.data()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return blocks.residual == nullptr ? all_avx2<false>(blocks) : all_avx2<true>(blocks);
  }
#endif
  return all_by_value(blocks);
}

void dequantise(const QuantiseSpec& spec, std::span<const std::uint8_t> q,
                std::span<const std::uint8_t> scales, std::span<float> y) {
  HS_CHECK(is_valid(spec) && q.size() == quantised_bytes(spec, y.size()));
  HS_CHECK(scales.size() == scale_bytes(spec, y.size()));
  for (std::size_t begin = 0; begin < y.size(); begin += spec.block) {
    const float scale = scale_at(spec.bf16_scales, scales.data(), begin / spec.block);
    const std::size_t n = std::min<std::size_t>(spec.block, y.size() - begin);
    if (spec.bits == 8) {
      values_of_bytes(n, scale, reinterpret_cast<const std::int8_t*>(q.data() + begin),
                      y.data() + begin);
      continue;
    }
    values_of_nibbles(n / 2, scale, q.data() + begin / 2, y.data() + begin);
    if (n % 2 != 0) {
      const auto last = static_cast<std::int32_t>((q[q.size() - 1] & 15u) ^ 8u) - 8;
      y[y.size() - 1] = scale * static_cast<float>(last);
    }
  }
}

}  // namespace hearsay::kernels
