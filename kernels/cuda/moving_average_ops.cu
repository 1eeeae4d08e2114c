// SPDX-License-Identifier: Apache-2.0
// The CUDA twin of moving_average. Both histograms are in shared memory (40 KB a block); the block
// that ends last finds the threshold, so a step is one kernel.
#include "kernels/cuda/bin_table.cuh"
#include "kernels/cuda/moving_average_api.h"
#include "kernels/cuda/quads.cuh"
#include "kernels/cuda/tile_tree.cuh"
#include "kernels/ops/moving_average_math.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr int kBlocksEach = 4;

struct Tables {
  BinTable<kCoarseBins, 4> coarse;
  BinTable<kZoomBins, 2> zoom;

  __device__ void drain(HsMovingResult* result) {
    coarse.drain(result->coarse);
    zoom.drain(result->zoom);
  }
};

struct ThreadFacts {
  unsigned kept = 0, above = 0, bad = 0;
};

struct Step {
  float rest, last_tau;
  ZoomWindow window;
};

__device__ void count(float x, const Step& step, Tables& tables, ThreadFacts& facts) {
  tables.coarse.add(coarse_bin(x));
  facts.kept += x >= step.last_tau;
  if (!(x >= step.window.begin)) return;
  if (is_inside(step.window, x)) {
    tables.zoom.add(zoom_bin(step.window, x));
  } else {
    ++facts.above;
  }
}

// Eight threads make a word: each has four bits. All 32 lanes call it.
__device__ void store_mask(unsigned four_bits, size_t at, size_t n, unsigned* mask) {
  unsigned word = four_bits << (4 * (threadIdx.x % 8));
  for (int offset = 4; offset > 0; offset /= 2) word |= __shfl_xor_sync(~0u, word, offset);
  if (threadIdx.x % 8 == 0 && at < n) mask[at / 32] = word;
}

template <typename T, bool kWhole>
__device__ void average_pair(const HsMovingAverage& a, size_t at, const Step& step, Tables& tables,
                             ThreadFacts& facts) {
  T* const ma = static_cast<T*>(a.d_ma);
  Quad<T> mas[2];
  Quad<float> gs[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    mas[k] = load<kWhole>(ma, at + kRowValues * k, a.n);
    gs[k] = load<kWhole>(a.d_g, at + kRowValues * k, a.n);
  }
  uint2 random[2]{};
  if constexpr (sizeof(T) == 2) rounding_words(at, a.seed, a.step, random);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const size_t here = at + kRowValues * k;
    unsigned bits = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (!kWhole && here + c >= a.n) continue;
      const float before = widen(mas[k].at[c]);
      const MovingStep next =
          moving_step(before, gs[k].at[c], a.beta, step.rest, a.is_squared != 0, kMaxBitsOf<T>);
      facts.bad += next.bad;
      if constexpr (sizeof(T) == 4) {
        mas[k].at[c] = next.ma;
      } else if (float_bits(next.ma) != float_bits(before)) {
        mas[k].at[c] = at_random(next.ma, quad_bits(random[k], c), T{});
      }
      const float stored = widen(mas[k].at[c]);
      count(stored, step, tables, facts);
      bits |= (stored >= step.last_tau ? 1u : 0u) << c;
    }
    store<kWhole>(ma, here, a.n, mas[k]);
    if (a.d_mask != nullptr) store_mask(bits, here, a.n, a.d_mask);
  }
}

// Whole block: the bin that holds `rank`, counted from 1 at the top, and the rank inside it.
struct Found {
  unsigned bin;
  unsigned long long rank, count;
};
template <int kBins>
__device__ Found find_rank(const unsigned long long* bins, unsigned long long rank) {
  constexpr int kEach = kBins / kBlock;
  __shared__ unsigned long long sums[kBlock];
  __shared__ Found found;
  unsigned long long sum = 0;
  for (int i = 0; i < kEach; ++i) sum += __ldcg(bins + threadIdx.x * kEach + i);
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    int part = kBlock - 1;
    for (; part > 0 && sums[part] < rank; --part) rank -= sums[part];
    int bin = part * kEach + kEach - 1;
    for (; bin > part * kEach && __ldcg(bins + bin) < rank; --bin) rank -= __ldcg(bins + bin);
    found = {static_cast<unsigned>(bin), rank, __ldcg(bins + bin)};
  }
  __syncthreads();
  const Found result = found;
  __syncthreads();
  return result;
}

// Whole block, the last: all counts are in `result`.
__device__ float next_tau(const HsMovingAverage& a, const Step& step,
                          const HsMovingResult* result) {
  if (a.n == 0) return step.last_tau;
  const unsigned long long most = a.n, rank = a.keep < 1 ? 1 : a.keep > most ? most : a.keep;
  const unsigned long long above = __ldcg(&result->above);
  if (rank > above) {
    const Found zoom = find_rank<kZoomBins>(result->zoom, rank - above);
    if (zoom.rank <= zoom.count) return inside_zoom(step.window, zoom.bin, zoom.rank, zoom.count);
  }
  const Found coarse = find_rank<kCoarseBins>(result->coarse, rank);
  return inside_coarse(coarse.bin, coarse.rank, coarse.count);
}

template <typename T>
__global__ __launch_bounds__(kBlock, kBlocksEach) void average_kernel(const HsMovingAverage a,
                                                                      bool is_aligned, size_t tiles,
                                                                      TreeHeader* header,
                                                                      HsMovingResult* result) {
  __shared__ Tables tables;
  tables.coarse.clear();
  tables.zoom.clear();
  __syncthreads();
  const float last_tau = __ldcg(a.d_tau);
  const Step step{1.0f - a.beta, last_tau, zoom_window(last_tau)};
  ThreadFacts facts;
  size_t since_drain = 0;
  for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const size_t begin = tile * kTileValues + 4 * threadIdx.x;
    if (is_aligned && a.n - tile * kTileValues >= kTileValues) {
#pragma unroll 1
      for (int k = 0; k < 4; k += 2)
        average_pair<T, true>(a, begin + kRowValues * k, step, tables, facts);
    } else {
#pragma unroll 1
      for (int k = 0; k < 4; k += 2)
        average_pair<T, false>(a, begin + kRowValues * k, step, tables, facts);
    }
    if (++since_drain == kTilesPerDrain) {
      __syncthreads();
      tables.drain(result);
      __syncthreads();
      since_drain = 0;
    }
  }
  const BlockCounts counts = block_counts(0, facts.bad, facts.kept);  // waits for all adds
  const BlockCounts more = block_counts(0, facts.above, 0);
  tables.drain(result);
  if (threadIdx.x == 0) {
    if (counts.bad != 0) atomicAdd(&result->bad, counts.bad);
    if (counts.changed != 0) atomicAdd(&result->kept, counts.changed);
    if (more.bad != 0) atomicAdd(&result->above, more.bad);
  }
  if (!is_last_block(&header->ticket)) return;
  const float tau = next_tau(a, step, result);
  if (threadIdx.x == 0) result->tau = *a.d_tau = tau;  // all blocks have read the last one
}

template <typename T>
cudaError_t run(const HsMovingAverage& a, TreeHeader* header, HsMovingResult* result,
                cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  const int resident = multiprocessors(error) * kBlocksEach;
  if (error != cudaSuccess) return error;
  const bool is_aligned = is_quad_aligned(static_cast<const T*>(a.d_ma)) && is_aligned16(a.d_g);
  const size_t tiles = tiles_of(a.n);
  average_kernel<T>
      <<<tile_grid(tiles, resident), kBlock, 0, stream>>>(a, is_aligned, tiles, header, result);
  return cudaGetLastError();
}

}  // namespace

extern "C" size_t hs_cuda_moving_average_workspace_bytes(void) { return kHeaderBytes; }

extern "C" int hs_cuda_moving_average(const HsMovingAverage* average, void* d_workspace,
                                      HsMovingResult* d_result, void* stream) {
  cudaStream_t on = as_stream(stream);
  const cudaError_t cleared = cudaMemsetAsync(d_result, 0, sizeof *d_result, on);
  if (cleared != cudaSuccess) return cleared;
  auto* header = static_cast<TreeHeader*>(d_workspace);
  if (average->is_bf16) return run<Bf16>(*average, header, d_result, on);
  return run<float>(*average, header, d_result, on);
}
