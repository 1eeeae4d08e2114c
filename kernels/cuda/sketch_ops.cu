// SPDX-License-Identifier: Apache-2.0
// A CTA owns 1024 buckets of one of the 256 chains, a thread four of them: sums and signs stay in
// registers, 32 visits of a chain share one draw of signs, and lane l draws the place of visit l
// for its warp. CTAs of one chain run side by side and read the same tiles. A second kernel adds
// the chains in fp64, in their order.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sketch_api.h"
#include "kernels/cuda/sketch_chains.cuh"
#include "kernels/ops/sketch_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr int kThreads = 256;
constexpr uint32_t kCtaBuckets = 4 * kThreads;

struct SketchArgs {
  const float* x;
  size_t n;
  uint64_t seed;
  uint32_t buckets;
  float* parts;  // chain x row x bucket
};

// Four values from i on; zeros beyond the end.
template <bool kVector>
__device__ uint4 load_quad(const float* x, size_t i, size_t n) {
  if (kVector && i + 4 <= n) return __ldcs(reinterpret_cast<const uint4*>(x + i));
  uint4 v = make_uint4(0, 0, 0, 0);
  if (i < n) v.x = __float_as_uint(x[i]);
  if (i + 1 < n) v.y = __float_as_uint(x[i + 1]);
  if (i + 2 < n) v.z = __float_as_uint(x[i + 2]);
  if (i + 3 < n) v.w = __float_as_uint(x[i + 3]);
  return v;
}

// Value l goes to l ^ swap, swap < 4.
__device__ uint4 swapped(uint4 v, uint32_t swap) {
  if (swap & 1) v = make_uint4(v.y, v.x, v.w, v.z);
  if (swap & 2) v = make_uint4(v.z, v.w, v.x, v.y);
  return v;
}

template <int kRows>
struct Owned {
  float sum[kRows][4];
  uint32_t sign[kRows][4];

  __device__ void draw(uint64_t seed, uint32_t quad, uint32_t chain, uint32_t run) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const PhiloxBlock words =
          sketch_words(seed, quad, chain, run, static_cast<uint32_t>(SketchUse::row) + row);
#pragma unroll
      for (int c = 0; c < 4; ++c) sign[row][c] = words.word[c];
    }
  }
  __device__ void add(uint4 v, uint32_t visit) {
    const uint32_t value[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int c = 0; c < 4; ++c)
        sum[row][c] += __uint_as_float(value[c] ^ sign_at(sign[row][c], visit));
    }
  }
};

template <int kRows, bool kVector>
__global__ void __launch_bounds__(kThreads, 4) sketch_chains(SketchArgs a) {
  constexpr int kAbreast = kRows <= 2 ? 8 : 4;  // tiles whose loads are in flight
  const uint32_t chain = blockIdx.y, quad = blockIdx.x * kThreads + threadIdx.x;
  const uint32_t eights = a.buckets / 8;
  const size_t tiles = (a.n + a.buckets - 1) / a.buckets;
  const auto visits = static_cast<uint32_t>((tiles - chain + kSketchChains - 1) / kSketchChains);
  Owned<kRows> own;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
#pragma unroll
    for (int c = 0; c < 4; ++c) own.sum[row][c] = 0.0f;
  }
  uint32_t place_word = 0;
  for (uint32_t k = 0; k < visits; k += kAbreast) {
    if (k % kSketchRun == 0) {
      own.draw(a.seed, quad, chain, k / kSketchRun);
      place_word = sketch_words(a.seed, k + threadIdx.x % 32, chain, 0,
                                static_cast<uint32_t>(SketchUse::placement))
                       .word[0];
    }
    uint4 v[kAbreast];
#pragma unroll
    for (int u = 0; u < kAbreast; ++u) {
      const uint32_t word = __shfl_sync(0xFFFFFFFFu, place_word, (k + u) % 32);
      const SketchPlace place = sketch_place(word, eights);
      const uint32_t eight =
          quad / 2 >= place.turn ? quad / 2 - place.turn : quad / 2 + eights - place.turn;
      const size_t tile = static_cast<size_t>(k + u) * kSketchChains + chain;
      const size_t i = tile * a.buckets + 8 * eight + 4 * ((quad ^ (place.swap >> 2)) & 1);
      v[u] = k + u < visits ? load_quad<kVector>(a.x, i, a.n) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int u = 0; u < kAbreast; ++u) {
      const uint32_t word = __shfl_sync(0xFFFFFFFFu, place_word, (k + u) % 32);
      if (k + u < visits) own.add(swapped(v[u], word & 3), k + u);
    }
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const size_t at = (static_cast<size_t>(chain) * kRows + row) * a.buckets + 4 * quad;
    *reinterpret_cast<float4*>(a.parts + at) =
        make_float4(own.sum[row][0], own.sum[row][1], own.sum[row][2], own.sum[row][3]);
  }
}

template <int kRows>
void launch(const SketchArgs& args, dim3 grid, cudaStream_t on) {
  if (is_aligned16(args.x)) {
    sketch_chains<kRows, true><<<grid, kThreads, 0, on>>>(args);
  } else {
    sketch_chains<kRows, false><<<grid, kThreads, 0, on>>>(args);
  }
}

uint32_t chains_of(size_t n, uint32_t tile) {
  const size_t tiles = n / tile + (n % tile != 0);
  return static_cast<uint32_t>(tiles < kSketchChains ? tiles : kSketchChains);
}

}  // namespace

extern "C" size_t hs_cuda_sketch_workspace(uint32_t buckets, uint32_t rows, size_t n) {
  return buckets == 0 ? 0 : sizeof(float) * size_t{chains_of(n, buckets)} * rows * buckets;
}

extern "C" int hs_cuda_sketch(uint32_t buckets, uint32_t rows, uint64_t seed, const float* d_x,
                              size_t n, void* d_workspace, float* d_y, void* stream) {
  if (buckets < 1024 || buckets > 65536 || buckets % 1024 != 0 || rows < 1 || rows > 4)
    return cudaErrorInvalidValue;
  const uint32_t chains = chains_of(n, buckets);
  auto* const parts = static_cast<float*>(d_workspace);
  const SketchArgs args{d_x, n, seed, buckets, parts};
  const dim3 grid(buckets / kCtaBuckets, chains);
  cudaStream_t on = as_stream(stream);
  if (chains > 0 && rows == 1) launch<1>(args, grid, on);
  if (chains > 0 && rows == 2) launch<2>(args, grid, on);
  if (chains > 0 && rows == 3) launch<3>(args, grid, on);
  if (chains > 0 && rows == 4) launch<4>(args, grid, on);
  const uint32_t values = rows * buckets;
  add_chains<<<(values + 63) / 64, 64, 0, on>>>(parts, chains, values, nullptr, values, 1.0, d_y);
  return cudaGetLastError();
}
