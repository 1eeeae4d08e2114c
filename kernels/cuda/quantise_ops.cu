// SPDX-License-Identifier: Apache-2.0
// A warp takes 256 values, eight in a row a lane: what one block of Philox serves, so that a block
// of 32 to 256 lies in 4 to 32 lanes and its largest magnitude goes by two to five shuffles. Each
// lane works out its block's scale; the next eight values are on their way meanwhile. Values that
// are not finite show in the largest magnitude and send the warp a longer way. All counts are
// size_t.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/quantise_api.h"
#include "kernels/ops/quantise_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr unsigned kAll = 0xFFFFFFFFu;
constexpr size_t kCta = 2048;  // values of a block of threads
constexpr int kResident = 6;   // blocks of threads on a multiprocessor at a time

struct QuantiseArgs {
  const float* x;
  uint8_t* q;
  void* scales;
  float* residual;
  unsigned long long* bad;
  size_t n;
  uint64_t first, stream;
  uint32_t key0[10], key1[10];  // of Philox's rounds
  bool is_bf16, is_vector;      // is_vector: float4 and whole stores of levels are aligned
};

void set_keys(QuantiseArgs& args, uint64_t seed) {
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
    args.key0[round] = key0;
    args.key1[round] = key1;
  }
}

// philox_block with the keys at hand.
__device__ PhiloxBlock words_of(const QuantiseArgs& args, uint64_t octet) {
  uint32_t a = static_cast<uint32_t>(octet), b = static_cast<uint32_t>(octet >> 32);
  uint32_t c = static_cast<uint32_t>(args.stream), d = static_cast<uint32_t>(args.stream >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * a;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c;
    a = static_cast<uint32_t>(p1 >> 32) ^ b ^ args.key0[round];
    b = static_cast<uint32_t>(p1);
    c = static_cast<uint32_t>(p0 >> 32) ^ d ^ args.key1[round];
    d = static_cast<uint32_t>(p0);
  }
  return {{a, b, c, d}};
}

__device__ void load_octet(const QuantiseArgs& a, size_t i, float (&v)[8]) {
  const float4 x = __ldcs(reinterpret_cast<const float4*>(a.x + i));
  const float4 y = __ldcs(reinterpret_cast<const float4*>(a.x + i) + 1);
  v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
  v[4] = y.x, v[5] = y.y, v[6] = y.z, v[7] = y.w;
}

// Unlike fmaxf, NaN when either is.
__device__ float larger_magnitude(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(fabsf(a)), "f"(fabsf(b)));
  return most;
}

// Largest magnitude of a lane's block; not finite when one of the values is not.
template <int kBlock>
__device__ float most_of_block(const float (&v)[8]) {
  float most[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) most[c] = larger_magnitude(v[c], v[c + 4]);
  most[0] =
      larger_magnitude(larger_magnitude(most[0], most[1]), larger_magnitude(most[2], most[3]));
#pragma unroll
  for (int step = kBlock / 16; step > 0; step /= 2)
    most[0] = larger_magnitude(most[0], __shfl_xor_sync(kAll, most[0], step));
  return most[0];
}

// Sets what is not finite to 0; returns how many there were.
__device__ uint32_t clean_octet(float (&v)[8]) {
  uint32_t bad = 0;
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    const bool is_bad = (float_bits(v[c]) & kInfinityBits) == kInfinityBits;
    bad += is_bad;
    v[c] = is_bad ? 0.0f : v[c];
  }
  return bad;
}

// The bits of block_scale: 2^15 / s is 2^15 times 1 / s, and no 1 / s of a finite s is denormal,
// as s is at most 2^128 / 7.
template <int kBits>
__device__ BlockScale scale_of_block(float most, bool is_bf16) {
  constexpr float kLevels = kBits == 8 ? 127.0f : 7.0f;
  float scale = scale_by_inverse(most, kLevels, 1.0f / kLevels);
  if (is_bf16) scale = bits_float((float_bits(scale) + 0xFFFFu) & 0xFFFF0000u);
  const float multiplier = __frcp_rn(scale) * kQuantisePoint;
  const bool is_zero = float_bits(multiplier) >= kInfinityBits;
  return {is_zero ? 0.0f : scale, is_zero ? 0.0f : multiplier};
}

// With bits = 16 bits of the value, of which `quantised` has the upper 15 for its offset, twice its
// sum and one bit too small to matter. Its level is in the upper half, plus 128 in the third byte.
__device__ uint32_t shifted_sum(float x, float multiplier, uint32_t bits) {
  return 2 * float_bits(x * multiplier + kQuantiseShift) + bits;
}

__device__ int32_t level_of(uint32_t sum) {
  return static_cast<int32_t>(sum - 2 * kQuantiseShiftBits) >> 16;
}

// The third bytes of four.
__device__ uint32_t third_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0062), __byte_perm(c, d, 0x0062), 0x5410);
}

template <int kBits, bool kFast>
__device__ void store_levels(const QuantiseArgs& a, size_t i, const uint32_t (&sum)[8]) {
  if constexpr (kBits == 8 && kFast) {
    const uint32_t low = third_bytes(sum[0], sum[1], sum[2], sum[3]) ^ 0x80808080u;
    const uint32_t high = third_bytes(sum[4], sum[5], sum[6], sum[7]) ^ 0x80808080u;
    *reinterpret_cast<uint2*>(a.q + i) = make_uint2(low, high);
  } else if constexpr (kBits == 8) {
#pragma unroll
    for (int c = 0; c < 8; ++c)
      if (i + c < a.n) a.q[i + c] = static_cast<uint8_t>(level_of(sum[c]));
  } else {
    const uint32_t even = third_bytes(sum[0], sum[2], sum[4], sum[6]);
    const uint32_t odd = third_bytes(sum[1], sum[3], sum[5], sum[7]);
    const uint32_t pairs = (even & 0x0F0F0F0Fu) | (odd << 4 & 0xF0F0F0F0u);
    if constexpr (kFast) {
      *reinterpret_cast<uint32_t*>(a.q + i / 2) = pairs;
    } else {
      // Beyond n the levels are those of 0 with some offset: 0.
#pragma unroll
      for (int c = 0; c < 4; ++c)
        if (i + 2 * c < a.n) a.q[i / 2 + c] = static_cast<uint8_t>(pairs >> 8 * c);
    }
  }
}

template <bool kFast>
__device__ void store_residual(const QuantiseArgs& a, size_t i, const float (&v)[8],
                               const uint32_t (&sum)[8], float scale) {
  float left[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) left[c] = v[c] - scale * static_cast<float>(level_of(sum[c]));
  if constexpr (kFast) {
    float4* const to = reinterpret_cast<float4*>(a.residual + i);
    __stcs(to, make_float4(left[0], left[1], left[2], left[3]));
    __stcs(to + 1, make_float4(left[4], left[5], left[6], left[7]));
  } else {
#pragma unroll
    for (int c = 0; c < 8; ++c)
      if (i + c < a.n) a.residual[i + c] = left[c];
  }
}

__device__ void store_scale(const QuantiseArgs& a, size_t block, float scale) {
  if (a.is_bf16) {
    static_cast<uint16_t*>(a.scales)[block] = static_cast<uint16_t>(float_bits(scale) >> 16);
  } else {
    static_cast<float*>(a.scales)[block] = scale;
  }
}

// Eight values v from i on; all lanes of a warp call it.
template <int kBits, int kBlock, bool kStochastic, bool kFast>
__device__ void quantise_octet(const QuantiseArgs& a, size_t i, float (&v)[8], uint32_t& bad) {
  PhiloxBlock words{};
  if (kStochastic) words = words_of(a, (a.first + i) / 8);
  float most = most_of_block<kBlock>(v);
  if (__any_sync(kAll, float_bits(most) >= kInfinityBits)) {
    bad += clean_octet(v);
    most = most_of_block<kBlock>(v);
  }
  const BlockScale by = scale_of_block<kBits>(most, a.is_bf16);
  if (threadIdx.x % (kBlock / 8) == 0 && (kFast || i < a.n)) store_scale(a, i / kBlock, by.scale);
  uint32_t sum[8];
#pragma unroll
  for (int c = 0; c < 8; ++c) {
    const uint32_t word = words.word[c / 2];
    const uint32_t bits = c % 2 == 0 ? word & 0xFFFFu : word >> 16;
    sum[c] = shifted_sum(v[c], by.multiplier, kStochastic ? bits : 2 * kQuantiseHalf);
  }
  store_levels<kBits, kFast>(a, i, sum);
  if (a.residual != nullptr) store_residual<kFast>(a, i, v, sum, by.scale);
}

template <int kBits, int kBlock, bool kStochastic>
__global__ void __launch_bounds__(256, kResident)
    quantise_blocks(const __grid_constant__ QuantiseArgs a) {
  const size_t whole = a.is_vector ? a.n / kCta : 0, all = (a.n + kCta - 1) / kCta;
  const size_t at = threadIdx.x * size_t{8};
  uint32_t bad = 0;
  float next[8];
  if (blockIdx.x < whole) load_octet(a, blockIdx.x * kCta + at, next);
  for (size_t tile = blockIdx.x; tile < whole; tile += gridDim.x) {
    float v[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) v[c] = next[c];
    if (tile + gridDim.x < whole) load_octet(a, (tile + gridDim.x) * kCta + at, next);
    quantise_octet<kBits, kBlock, kStochastic, true>(a, tile * kCta + at, v, bad);
  }
  for (size_t tile = whole + blockIdx.x; tile < all; tile += gridDim.x) {
    const size_t i = tile * kCta + at;
    float v[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) v[c] = i + c < a.n ? a.x[i + c] : 0.0f;
    quantise_octet<kBits, kBlock, kStochastic, false>(a, i, v, bad);
  }
  bad = __reduce_add_sync(kAll, bad);
  if (threadIdx.x % 32 == 0 && bad != 0) atomicAdd(a.bad, static_cast<unsigned long long>(bad));
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
  const int most = multiprocessors(result) * 4 * kResident;
  if (result != cudaSuccess) return result;
  const bool is_vector =
      is_aligned16(d_x) && is_aligned16(d_residual) && reinterpret_cast<uintptr_t>(d_q) % 8 == 0;
  QuantiseArgs args{d_x,
                    d_q,
                    d_scales,
                    d_residual,
                    d_bad,
                    n,
                    first,
                    spec->stream,
                    {},
                    {},
                    spec->bf16_scales != 0,
                    is_vector};
  set_keys(args, spec->seed);
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
