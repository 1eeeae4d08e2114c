// SPDX-License-Identifier: Apache-2.0
// A warp takes 512 values: four float4 a lane, so that a block of 32 to 128 lies in 8 to 32 lanes
// of one of them and a block of 256 in two. Largest magnitudes go by shuffles; each block's two
// divisions are done by one lane, whose scales are then stored side by side. One Philox block gives
// the offsets of one float4. All counts are size_t.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/quantise_api.h"
#include "kernels/ops/quantise_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr unsigned kAll = 0xFFFFFFFFu;
constexpr int kGroups = 4;                // float4 a lane
constexpr size_t kChunk = kGroups * 128;  // values of a warp
constexpr size_t kCta = 8 * kChunk;

struct QuantiseArgs {
  const float* x;
  uint8_t* q;
  void* scales;
  float* residual;
  unsigned long long* bad;
  size_t n;
  uint64_t first, seed, stream;
  bool is_bf16, is_vector;  // is_vector: float4 and 32-bit accesses are aligned
};

__device__ void load_quad(const QuantiseArgs& a, size_t i, bool fast, float (&v)[4]) {
  if (fast) {
    const float4 x = __ldcs(reinterpret_cast<const float4*>(a.x + i));
    v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
    return;
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) v[c] = i + c < a.n ? a.x[i + c] : 0.0f;
}

// Sets what is not finite to 0 and counts it; returns the bits of the largest magnitude.
__device__ uint32_t clean_quad(float (&v)[4], uint32_t& bad) {
  uint32_t most = 0;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const uint32_t bits = float_bits(v[c]) & 0x7FFFFFFFu;
    const bool is_bad = bits >= kInfinityBits;
    bad += is_bad;
    v[c] = is_bad ? 0.0f : v[c];
    most = max(most, is_bad ? 0u : bits);
  }
  return most;
}

template <int kBits>
__device__ void store_levels(const QuantiseArgs& a, size_t i, bool fast,
                             const int32_t (&level)[4]) {
  if (kBits == 8) {
    if (fast) {
      const uint32_t low = __byte_perm(level[0], level[1], 0x0040);
      const uint32_t high = __byte_perm(level[2], level[3], 0x0040);
      *reinterpret_cast<uint32_t*>(a.q + i) = __byte_perm(low, high, 0x5410);
      return;
    }
#pragma unroll
    for (int c = 0; c < 4; ++c)
      if (i + c < a.n) a.q[i + c] = static_cast<uint8_t>(level[c]);
    return;
  }
  const uint32_t low = (level[0] & 15) | (level[1] & 15) << 4;
  const uint32_t high = (level[2] & 15) | (level[3] & 15) << 4;
  if (fast) {
    *reinterpret_cast<uint16_t*>(a.q + i / 2) = static_cast<uint16_t>(low | high << 8);
    return;
  }
  // Beyond n the levels are those of 0 with some offset: 0.
  if (i < a.n) a.q[i / 2] = static_cast<uint8_t>(low);
  if (i + 2 < a.n) a.q[i / 2 + 1] = static_cast<uint8_t>(high);
}

__device__ void store_residual(const QuantiseArgs& a, size_t i, bool fast, const float (&v)[4],
                               const int32_t (&level)[4], float scale) {
  float left[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) left[c] = v[c] - scale * static_cast<float>(level[c]);
  if (fast) {
    __stcs(reinterpret_cast<float4*>(a.residual + i),
           make_float4(left[0], left[1], left[2], left[3]));
    return;
  }
#pragma unroll
  for (int c = 0; c < 4; ++c)
    if (i + c < a.n) a.residual[i + c] = left[c];
}

// Blocks of a group and lanes of a block; a block of 256 takes two groups.
template <int kBlock>
struct Layout {
  static constexpr int kLanes = kBlock < 128 ? kBlock / 4 : 32;
  static constexpr int kPerGroup = kBlock < 128 ? 128 / kBlock : 1;
  static constexpr int kGroupsOfBlock = kBlock == 256 ? 2 : 1;
  static constexpr int kBlocks = static_cast<int>(kChunk) / kBlock;
};

// Block b of the chunk is worked out by lane b: its largest magnitude is fetched from the lanes
// that hold it.
template <int kBlock>
__device__ BlockScale scale_of_lane(const uint32_t (&most)[kGroups], int lane, float levels,
                                    bool is_bf16) {
  using L = Layout<kBlock>;
  uint32_t mine = 0;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const uint32_t here = __shfl_sync(kAll, most[g], lane % L::kPerGroup * L::kLanes);
    if (lane / L::kPerGroup == g / L::kGroupsOfBlock) mine = here;
  }
  return block_scale(mine, levels, is_bf16);
}

__device__ void store_scale(const QuantiseArgs& a, size_t block, float scale) {
  if (a.is_bf16) {
    static_cast<uint16_t*>(a.scales)[block] = static_cast<uint16_t>(float_bits(scale) >> 16);
  } else {
    static_cast<float*>(a.scales)[block] = scale;
  }
}

template <int kBits, int kBlock, bool kStochastic>
__global__ void __launch_bounds__(256) quantise_blocks(QuantiseArgs a) {
  using L = Layout<kBlock>;
  const int lane = threadIdx.x % 32;
  const size_t warps = size_t{gridDim.x} * 8;
  const size_t chunks = (a.n + kChunk - 1) / kChunk;
  uint32_t bad = 0;
  for (size_t chunk = blockIdx.x * size_t{8} + threadIdx.x / 32; chunk < chunks; chunk += warps) {
    const size_t base = chunk * kChunk + lane * 4;
    const bool fast = a.is_vector && chunk * kChunk + kChunk <= a.n;
    float v[kGroups][4];
    uint32_t most[kGroups];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) load_quad(a, base + g * 128, fast, v[g]);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      most[g] = clean_quad(v[g], bad);
#pragma unroll
      for (int step = L::kLanes / 2; step > 0; step /= 2)
        most[g] = max(most[g], __shfl_xor_sync(kAll, most[g], step));
    }
    if (kBlock == 256) {
      most[0] = most[1] = max(most[0], most[1]);
      most[2] = most[3] = max(most[2], most[3]);
    }
    const BlockScale own = scale_of_lane<kBlock>(most, lane, kBits == 8 ? 127.0f : 7.0f, a.is_bf16);
    if (lane < L::kBlocks && chunk * kChunk + size_t{kBlock} * lane < a.n)
      store_scale(a, chunk * L::kBlocks + lane, own.scale);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const size_t i = base + g * 128;
      const int source = g / L::kGroupsOfBlock * L::kPerGroup + lane / L::kLanes % L::kPerGroup;
      const float multiplier = __shfl_sync(kAll, own.multiplier, source);
      PhiloxBlock words{};
      if (kStochastic) words = quantise_words((a.first + i) / 4, a.stream, a.seed);
      int32_t level[4];
#pragma unroll
      for (int c = 0; c < 4; ++c)
        level[c] =
            quantised(v[g][c], multiplier, kStochastic ? words.word[c] >> 17 : kQuantiseHalf);
      store_levels<kBits>(a, i, fast, level);
      if (a.residual != nullptr)
        store_residual(a, i, fast, v[g], level, __shfl_sync(kAll, own.scale, source));
    }
  }
  bad = __reduce_add_sync(kAll, bad);
  if (lane == 0 && bad != 0) atomicAdd(a.bad, static_cast<unsigned long long>(bad));
}

__device__ float scale_at(const void* scales, bool is_bf16, size_t block) {
  if (!is_bf16) return __ldg(static_cast<const float*>(scales) + block);
  return bits_float(static_cast<uint32_t>(__ldg(static_cast<const uint16_t*>(scales) + block))
                    << 16);
}

template <int kBits>
__device__ int32_t level_at(uint32_t word, int c) {
  return static_cast<int32_t>(word << (32 - kBits - kBits * c)) >> (32 - kBits);
}

// Four values a step and thread, four steps in flight.
template <int kBits>
__global__ void __launch_bounds__(256)
    dequantise_vector(const uint8_t* q, const void* scales, bool is_bf16, int shift, float4* y,
                      size_t n4) {
  const size_t stride = size_t{256} * gridDim.x;
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < n4; i += 4 * stride) {
    uint32_t word[4];
    float scale[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const size_t at = i + u * stride;
      if (at >= n4) break;
      word[u] = kBits == 8 ? __ldcs(reinterpret_cast<const uint32_t*>(q) + at)
                           : __ldcs(reinterpret_cast<const uint16_t*>(q) + at);
      scale[u] = scale_at(scales, is_bf16, (at * 4) >> shift);
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const size_t at = i + u * stride;
      if (at >= n4) break;
      float v[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) v[c] = scale[u] * static_cast<float>(level_at<kBits>(word[u], c));
      __stcs(y + at, make_float4(v[0], v[1], v[2], v[3]));
    }
  }
}

template <int kBits>
__global__ void dequantise_scalar(const uint8_t* q, const void* scales, bool is_bf16, int shift,
                                  float* y, size_t begin, size_t n) {
  for (size_t i = begin + blockIdx.x * size_t{256} + threadIdx.x; i < n;
       i += size_t{256} * gridDim.x) {
    const uint32_t word = kBits == 8 ? q[i] : static_cast<uint32_t>(q[i / 2] >> (i % 2 * 4));
    y[i] = scale_at(scales, is_bf16, i >> shift) * static_cast<float>(level_at<kBits>(word, 0));
  }
}

template <int kBits, int kBlock>
void launch_quantise(bool is_stochastic, int grid, cudaStream_t on, const QuantiseArgs& args) {
  if (is_stochastic) {
    quantise_blocks<kBits, kBlock, true><<<grid, 256, 0, on>>>(args);
  } else {
    quantise_blocks<kBits, kBlock, false><<<grid, 256, 0, on>>>(args);
  }
}

template <int kBits>
void launch_quantise(uint32_t block, bool is_stochastic, int grid, cudaStream_t on,
                     const QuantiseArgs& args) {
  if (block == 32) launch_quantise<kBits, 32>(is_stochastic, grid, on, args);
  if (block == 64) launch_quantise<kBits, 64>(is_stochastic, grid, on, args);
  if (block == 128) launch_quantise<kBits, 128>(is_stochastic, grid, on, args);
  if (block == 256) launch_quantise<kBits, 256>(is_stochastic, grid, on, args);
}

template <int kBits>
void launch_dequantise(const uint8_t* q, const void* scales, bool is_bf16, int shift, float* y,
                       size_t n, int grid, cudaStream_t on) {
  const bool is_vector =
      is_aligned16(y) && reinterpret_cast<uintptr_t>(q) % (kBits == 8 ? 4 : 2) == 0;
  const size_t n4 = is_vector ? n / 4 : 0;
  if (n4 > 0) {
    dequantise_vector<kBits>
        <<<grid, 256, 0, on>>>(q, scales, is_bf16, shift, reinterpret_cast<float4*>(y), n4);
  }
  if (n4 * 4 < n) {
    const int rest_grid = n4 > 0 ? 1 : grid;
    dequantise_scalar<kBits><<<rest_grid, 256, 0, on>>>(q, scales, is_bf16, shift, y, n4 * 4, n);
  }
}

bool is_good(const HsQuantiseSpec& spec, const void* scales) {
  const bool is_block =
      spec.block == 32 || spec.block == 64 || spec.block == 128 || spec.block == 256;
  return (spec.bits == 8 || spec.bits == 4) && is_block &&
         reinterpret_cast<uintptr_t>(scales) % (spec.bf16_scales ? 2 : 4) == 0;
}

int capped(size_t blocks, int most) {
  return static_cast<int>(blocks < static_cast<size_t>(most) ? (blocks > 0 ? blocks : 1) : most);
}

}  // namespace

extern "C" int hs_cuda_quantise(const HsQuantiseSpec* spec, uint64_t first, const float* d_x,
                                size_t n, uint8_t* d_q, void* d_scales, float* d_residual,
                                unsigned long long* d_bad, void* stream) {
  if (!is_good(*spec, d_scales) || first % spec->block != 0) return cudaErrorInvalidValue;
  if (n == 0) return 0;
  cudaError_t result = cudaSuccess;
  const int most = multiprocessors(result) * 32;
  if (result != cudaSuccess) return result;
  const bool is_vector =
      is_aligned16(d_x) && is_aligned16(d_residual) && reinterpret_cast<uintptr_t>(d_q) % 4 == 0;
  const QuantiseArgs args{d_x,      d_q,   d_scales,   d_residual,   d_bad,
                          n,        first, spec->seed, spec->stream, spec->bf16_scales != 0,
                          is_vector};
  const int grid = capped((n + kCta - 1) / kCta, most);
  if (spec->bits == 8) {
    launch_quantise<8>(spec->block, spec->stochastic != 0, grid, as_stream(stream), args);
  } else {
    launch_quantise<4>(spec->block, spec->stochastic != 0, grid, as_stream(stream), args);
  }
  return cudaGetLastError();
}

extern "C" int hs_cuda_dequantise(const HsQuantiseSpec* spec, const uint8_t* d_q,
                                  const void* d_scales, float* d_y, size_t n, void* stream) {
  if (!is_good(*spec, d_scales)) return cudaErrorInvalidValue;
  if (n == 0) return 0;
  cudaError_t result = cudaSuccess;
  const int most = multiprocessors(result) * 32;
  if (result != cudaSuccess) return result;
  const int grid = capped((n + 4095) / 4096, most);
  const int shift = __builtin_ctz(spec->block);
  if (spec->bits == 8) {
    launch_dequantise<8>(d_q, d_scales, spec->bf16_scales != 0, shift, d_y, n, grid,
                         as_stream(stream));
  } else {
    launch_dequantise<4>(d_q, d_scales, spec->bf16_scales != 0, shift, d_y, n, grid,
                         as_stream(stream));
  }
  return cudaGetLastError();
}
