// SPDX-License-Identifier: Apache-2.0
// Philox for eight counters at a time with AVX2: each counter in a 64-bit lane, where vpmuludq
// needs its factor and leaves high and low word. The words are those of philox_block. Only for
// functions that are compiled for AVX2 and called where __builtin_cpu_supports("avx2").
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#define HS_AVX2 __attribute__((target("avx2")))
#define HS_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

namespace hearsay::kernels {

struct PhiloxKeys {
  std::uint64_t key0[10], key1[10];
};

inline PhiloxKeys philox_keys(std::uint64_t seed) {
  PhiloxKeys keys;
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
    keys.key0[round] = key0;
    keys.key1[round] = key1;
  }
  return keys;
}

struct PhiloxLanes {
  __m256i a, b, c, d;  // the low half of each 64-bit lane counts
};

HS_AVX2_INLINE void philox_round(PhiloxLanes& s, __m256i key0, __m256i key1) {
  const __m256i p0 = _mm256_mul_epu32(s.a, _mm256_set1_epi64x(0xD2511F53));
  const __m256i p1 = _mm256_mul_epu32(s.c, _mm256_set1_epi64x(0xCD9E8D57));
  s.a = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(s.b, key0));
  s.c = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(s.d, key1));
  s.b = p1;
  s.d = p0;
}

// 16 words in order from four counters that lie in the order 0, 2, 1, 3.
HS_AVX2_INLINE void words_in_order(const PhiloxLanes& s, __m256i* out) {
  const __m256i ab = _mm256_blend_epi32(s.a, _mm256_slli_epi64(s.b, 32), 0xAA);
  const __m256i cd = _mm256_blend_epi32(s.c, _mm256_slli_epi64(s.d, 32), 0xAA);
  out[0] = _mm256_unpacklo_epi64(ab, cd);
  out[1] = _mm256_unpackhi_epi64(ab, cd);
}

// The words of counters `low` .. `low` + 7 (lower 64 bits) with `high` (upper 64 bits), in order.
HS_AVX2_INLINE void philox_32_words(std::uint64_t low, std::uint64_t high, const PhiloxKeys& keys,
                                    __m256i* out) {
  const __m256i base = _mm256_set1_epi64x(static_cast<long long>(low));
  PhiloxLanes lower, upper;
  lower.a = _mm256_add_epi64(base, _mm256_setr_epi64x(0, 2, 1, 3));
  upper.a = _mm256_add_epi64(base, _mm256_setr_epi64x(4, 6, 5, 7));
  lower.b = _mm256_srli_epi64(lower.a, 32);
  upper.b = _mm256_srli_epi64(upper.a, 32);
  lower.c = upper.c = _mm256_set1_epi64x(static_cast<long long>(high));
  lower.d = upper.d = _mm256_srli_epi64(lower.c, 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const __m256i key0 = _mm256_set1_epi64x(static_cast<long long>(keys.key0[round]));
    const __m256i key1 = _mm256_set1_epi64x(static_cast<long long>(keys.key1[round]));
    philox_round(lower, key0, key1);
    philox_round(upper, key0, key1);
  }
  words_in_order(lower, out);
  words_in_order(upper, out + 2);
}

}  // namespace hearsay::kernels
#endif
