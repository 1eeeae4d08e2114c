// SPDX-License-Identifier: Apache-2.0
// Four neighbouring values a thread: loads and stores in one instruction where the address allows
// it, and the random bits that round them. Thread t of a block takes values 4 t + 1024 k of a tile,
// k = 0 .. 3, so a warp reads 512 (16-bit types: 256) bytes in a row.
#pragma once

#include "kernels/core/half.hpp"
#include "kernels/core/tile_tree.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/ops/ema_math.hpp"

namespace hearsay::cuda {

using kernels::Bf16;
using kernels::Fp16;

template <typename T>
struct alignas(4 * sizeof(T)) Quad {
  T at[4];
};

template <typename T>
__host__ __device__ inline bool is_quad_aligned(const T* p) {
  return reinterpret_cast<uintptr_t>(p) % sizeof(Quad<T>) == 0;
}

// Streaming: what is read or written once does not push out what the next kernel wants.
__device__ inline Quad<float> load_quad(const float* p) {
  return __builtin_bit_cast(Quad<float>, __ldcs(reinterpret_cast<const float4*>(p)));
}
template <typename Half>
__device__ inline Quad<Half> load_quad(const Half* p) {
  return __builtin_bit_cast(Quad<Half>, __ldcs(reinterpret_cast<const uint2*>(p)));
}
__device__ inline void store_quad(float* p, const Quad<float>& quad) {
  __stcs(reinterpret_cast<float4*>(p), __builtin_bit_cast(float4, quad));
}
template <typename Half>
__device__ inline void store_quad(Half* p, const Quad<Half>& quad) {
  __stcs(reinterpret_cast<uint2*>(p), __builtin_bit_cast(uint2, quad));
}

// Where the address is odd or the span ends: as many of four as there are. Values beyond are zero.
template <typename T>
__device__ inline Quad<T> load_part(const T* p, size_t at, size_t n) {
  Quad<T> quad{};
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (at + c < n) quad.at[c] = p[at + c];
  }
  return quad;
}
template <typename T>
__device__ inline void store_part(T* p, size_t at, size_t n, const Quad<T>& quad) {
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (at + c < n) p[at + c] = quad.at[c];
  }
}

template <bool kWhole, typename T>
__device__ inline Quad<T> load(const T* p, size_t at, size_t n) {
  if constexpr (kWhole) return load_quad(p + at);
  return load_part(p, at, n);
}
template <bool kWhole, typename T>
__device__ inline void store(T* p, size_t at, size_t n, const Quad<T>& quad) {
  if constexpr (kWhole) {
    store_quad(p + at, quad);
  } else {
    store_part(p, at, n, quad);
  }
}

// Two words: sixteen bits for each of four values, the lower half of a word first.
__device__ inline unsigned quad_bits(const uint2& words, int c) {
  const unsigned word = c < 2 ? words.x : words.y;
  return c % 2 == 0 ? word & 0xffffu : word >> 16;
}

// For the quads at `index` and `index + 1024`. A block of Philox serves eight values, so the even
// thread of two makes the first quads' and the odd one the second quads'. All 32 lanes call it.
__device__ inline void rounding_words(unsigned long long index, unsigned long long seed,
                                      unsigned long long id, uint2 (&words)[2]) {
  const bool is_odd = threadIdx.x % 2 == 1;
  const auto block =
      kernels::rounding_bits((index + (is_odd ? kernels::kRowValues : 0)) / 8, seed, id);
  const uint2 lower{block.word[0], block.word[1]}, upper{block.word[2], block.word[3]};
  const uint2 given = is_odd ? lower : upper;
  const uint2 taken{__shfl_xor_sync(~0u, given.x, 1), __shfl_xor_sync(~0u, given.y, 1)};
  words[0] = is_odd ? taken : lower;
  words[1] = is_odd ? upper : taken;
}

}  // namespace hearsay::cuda
