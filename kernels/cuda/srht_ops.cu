// SPDX-License-Identifier: Apache-2.0
// A CTA of 256 threads walks one chain, 16 values of a block a thread: bits 0, 1, 10, 11 of the
// index in registers as loaded, then 2 to 5, then 6 to 9 after two passages through shared memory,
// whose rows are padded by one in 32 against bank conflicts. The next block is loaded before the
// first passage. All 4096 sums stay in registers.
#include <cmath>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sketch_api.h"
#include "kernels/cuda/sketch_chains.cuh"
#include "kernels/ops/sketch_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr uint32_t kSrhtBlock = 4096;
constexpr int kThreads = 256;

// Where value i lies in shared memory: all three patterns below then meet 32 different banks.
__device__ uint32_t placed(uint32_t i) { return i ^ ((i >> 5) & 3) ^ (((i >> 6) & 7) << 2); }

// Butterflies over the four bits of the register number, lowest first.
__device__ void four_stages(float (&v)[16]) {
#pragma unroll
  for (int step = 1; step < 16; step *= 2) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      if ((j & step) == 0) {
        const float a = v[j], b = v[j + step];
        v[j] = a + b;
        v[j + step] = a - b;
      }
    }
  }
}

__device__ void load_block(const float* x, size_t begin, size_t n, bool is_vector, float (&v)[16]) {
#pragma unroll
  for (int g = 0; g < 4; ++g) {
    const size_t i = begin + g * 1024 + threadIdx.x * 4;
    if (is_vector && i + 4 <= n) {
      const float4 four = __ldcs(reinterpret_cast<const float4*>(x + i));
      v[4 * g] = four.x, v[4 * g + 1] = four.y, v[4 * g + 2] = four.z, v[4 * g + 3] = four.w;
    } else {
#pragma unroll
      for (int c = 0; c < 4; ++c) v[4 * g + c] = i + c < n ? x[i + c] : 0.0f;
    }
  }
}

// Signs of a thread's 16 values on the way in and 16 sums on the way out, for 32 visits; every
// 256th word from the thread's number on. Only the thread that wrote them reads them.
__device__ void draw_signs(uint64_t seed, uint32_t chain, uint32_t run, uint32_t* in,
                           uint32_t* out) {
#pragma unroll 1
  for (int g = 0; g < 4; ++g) {
    const PhiloxBlock left = sketch_words(seed, g * 256 + threadIdx.x, chain, run,
                                          static_cast<uint32_t>(SketchUse::srht_in));
    const PhiloxBlock right = sketch_words(seed, threadIdx.x * 4 + g, chain, run,
                                           static_cast<uint32_t>(SketchUse::srht_out));
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      in[(4 * g + c) * kThreads] = left.word[c];
      out[(4 * g + c) * kThreads] = right.word[c];
    }
  }
}

__device__ float with_sign(float v, uint32_t word, uint32_t visit) {
  return __uint_as_float(__float_as_uint(v) ^ sign_at(word, visit));
}

// From bits 0, 1, 10, 11 in the register number to 6, 7, 8, 9; the thread number then has bits 0 to
// 5, 10 and 11.
__device__ void transform(float (&v)[16], float* shared) {
  const uint32_t t = threadIdx.x;
  four_stages(v);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 16; ++j) shared[placed((j & 3) | t << 2 | (j >> 2) << 10)] = v[j];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 16; ++j) v[j] = shared[placed((t & 3) | j << 2 | (t >> 2) << 6)];
  four_stages(v);
  // Each thread writes where it read.
#pragma unroll
  for (int j = 0; j < 16; ++j) shared[placed((t & 3) | j << 2 | (t >> 2) << 6)] = v[j];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 16; ++j) v[j] = shared[placed((t & 63) | j << 6 | (t >> 6) << 10)];
  four_stages(v);
}

__global__ void __launch_bounds__(kThreads, 2)
    srht_chains(const float* x, size_t n, uint64_t seed, bool is_vector, float* parts) {
  __shared__ float shared[kSrhtBlock];
  __shared__ uint32_t in_signs[kSrhtBlock], out_signs[kSrhtBlock];
  const uint32_t chain = blockIdx.x, t = threadIdx.x;
  constexpr size_t kStride = size_t{kSketchChains} * kSrhtBlock;
  float sum[16] = {}, next[16];
  uint32_t *const in = in_signs + t, *const out = out_signs + t;
  size_t begin = static_cast<size_t>(chain) * kSrhtBlock;
  load_block(x, begin, n, is_vector, next);
  for (uint32_t visit = 0; begin < n; ++visit, begin += kStride) {
    if (visit % kSketchRun == 0) draw_signs(seed, chain, visit / kSketchRun, in, out);
    float v[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) v[j] = with_sign(next[j], in[j * kThreads], visit);
    if (begin + kStride < n) load_block(x, begin + kStride, n, is_vector, next);
    transform(v, shared);
#pragma unroll
    for (int j = 0; j < 16; ++j) sum[j] += with_sign(v[j], out[j * kThreads], visit);
  }
#pragma unroll
  for (int j = 0; j < 16; ++j)
    parts[static_cast<size_t>(chain) * kSrhtBlock + ((t & 63) | j << 6 | (t >> 6) << 10)] = sum[j];
}

uint32_t chains_of(size_t n) {
  const size_t blocks = n / kSrhtBlock + (n % kSrhtBlock != 0);
  return static_cast<uint32_t>(blocks < kSketchChains ? blocks : kSketchChains);
}

}  // namespace

extern "C" size_t hs_cuda_srht_workspace(size_t n) {
  return sizeof(float) * size_t{chains_of(n)} * kSrhtBlock;
}

extern "C" int hs_cuda_srht(uint64_t seed, const uint16_t* d_kept, uint32_t kept, const float* d_x,
                            size_t n, void* d_workspace, float* d_y, void* stream) {
  if (kept > kSrhtBlock) return cudaErrorInvalidValue;
  if (kept == 0) return 0;
  const uint32_t chains = chains_of(n);
  auto* const parts = static_cast<float*>(d_workspace);
  cudaStream_t on = as_stream(stream);
  if (chains > 0) srht_chains<<<chains, kThreads, 0, on>>>(d_x, n, seed, is_aligned16(d_x), parts);
  const double scale = 1.0 / std::sqrt(static_cast<double>(kept));
  add_chains<<<(kept + 63) / 64, 64, 0, on>>>(parts, chains, kSrhtBlock, d_kept, kept, scale, d_y);
  return cudaGetLastError();
}
