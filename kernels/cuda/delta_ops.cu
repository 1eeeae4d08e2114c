// SPDX-License-Identifier: Apache-2.0
// The CUDA twin of delta: the loop of the EMA merge with a histogram in shared memory (32 KB a
// block).
#include "kernels/cuda/bin_table.cuh"
#include "kernels/cuda/delta_api.h"
#include "kernels/cuda/quads.cuh"
#include "kernels/cuda/tile_tree.cuh"
#include "kernels/ops/delta_math.hpp"
#include "kernels/ops/magnitude_bins.hpp"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr int kBlocksEach = 4;
using Bins = BinTable<kCoarseBins, 4>;

struct ThreadFacts {
  unsigned max_bits = 0, bad = 0;
};

template <DeltaMomentum kMomentum, bool kHasError, bool kWhole>
__device__ void delta_quad(const HsDelta& d, size_t at, Bins& bins, double (&sums)[4],
                           ThreadFacts& facts) {
  constexpr bool kHasMomentum = kMomentum != DeltaMomentum::none;
  const Quad<float> w = load<kWhole>(d.d_w, at, d.n);
  Quad<float> anchor = load<kWhole>(d.d_anchor, at, d.n), momentum{}, error{}, out{};
  if constexpr (kHasMomentum) momentum = load<kWhole>(d.d_momentum, at, d.n);
  if constexpr (kHasError) error = load<kWhole>(d.d_error, at, d.n);
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (!kWhole && at + c >= d.n) continue;
    const DeltaStep step =
        delta_step<kMomentum, kHasError>(w.at[c], anchor.at[c], momentum.at[c], error.at[c], d.mu);
    facts.max_bits = max(facts.max_bits, float_bits(step.u) & kMagnitude);
    facts.bad += step.bad;
    const double u = static_cast<double>(step.u);
    sums[c] = __fma_rn(u, u, sums[c]);  // u * u is exact in fp64
    bins.add(coarse_bin(step.size));
    momentum.at[c] = step.momentum;
    out.at[c] = step.u;
    if (step.bad == 0) anchor.at[c] = w.at[c];
  }
  if constexpr (kHasMomentum) store<kWhole>(d.d_momentum, at, d.n, momentum);
  if (d.d_out != nullptr) store<kWhole>(d.d_out, at, d.n, out);
  if (d.is_refreshing) store<kWhole>(d.d_anchor, at, d.n, anchor);
}

template <DeltaMomentum kMomentum, bool kHasError>
__global__ __launch_bounds__(kBlock, kBlocksEach) void delta_kernel(const HsDelta d,
                                                                    bool is_aligned, Tree tree,
                                                                    HsDeltaResult* result) {
  __shared__ Bins bins;
  bins.clear();
  __syncthreads();
  ThreadFacts facts;
  size_t since_drain = 0;
  for (size_t tile = blockIdx.x; tile < tree.tiles; tile += gridDim.x) {
    const size_t begin = tile * kTileValues + 4 * threadIdx.x;
    double sums[4] = {};
    if (is_aligned && d.n - tile * kTileValues >= kTileValues) {
#pragma unroll 2
      for (int k = 0; k < 4; ++k)
        delta_quad<kMomentum, kHasError, true>(d, begin + kRowValues * k, bins, sums, facts);
    } else {
#pragma unroll 1
      for (int k = 0; k < 4; ++k)
        delta_quad<kMomentum, kHasError, false>(d, begin + kRowValues * k, bins, sums, facts);
    }
    store_sum(sums, tree.parts, tile);
    if (++since_drain == kTilesPerDrain) {
      __syncthreads();
      bins.drain(result->histogram);
      __syncthreads();
      since_drain = 0;
    }
  }
  const BlockCounts counts = block_counts(facts.max_bits, facts.bad, 0);  // waits for all adds
  bins.drain(result->histogram);
  if (threadIdx.x == 0) {
    atomicMax(reinterpret_cast<unsigned*>(&result->max_update), counts.max_bits);
    if (counts.bad != 0) atomicAdd(&result->bad, counts.bad);
  }
  if (is_last_block(&tree.header->ticket)) finish_small<1>(tree, &result->update_sq);
}

template <DeltaMomentum kMomentum>
cudaError_t run(const HsDelta& d, const Tree& tree, HsDeltaResult* result, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  const int resident = multiprocessors(error) * kBlocksEach;
  if (error != cudaSuccess) return error;
  const bool is_aligned = is_aligned16(d.d_w) && is_aligned16(d.d_anchor) &&
                          is_aligned16(d.d_momentum) && is_aligned16(d.d_error) &&
                          is_aligned16(d.d_out);  // a null pointer is aligned
  const unsigned grid = tile_grid(tree.tiles, resident);
  if (d.d_error != nullptr) {
    delta_kernel<kMomentum, true><<<grid, kBlock, 0, stream>>>(d, is_aligned, tree, result);
  } else {
    delta_kernel<kMomentum, false><<<grid, kBlock, 0, stream>>>(d, is_aligned, tree, result);
  }
  return finish_large<1>(tree, &result->update_sq, stream);
}

}  // namespace

extern "C" size_t hs_cuda_delta_workspace_bytes(size_t n) { return tree_bytes(tiles_of(n), 1); }

extern "C" int hs_cuda_delta(const HsDelta* delta, void* d_workspace, HsDeltaResult* d_result,
                             void* stream) {
  if (delta->is_nesterov && delta->d_momentum == nullptr) return cudaErrorInvalidValue;
  cudaStream_t on = as_stream(stream);
  const cudaError_t cleared = cudaMemsetAsync(d_result, 0, sizeof *d_result, on);
  if (cleared != cudaSuccess) return cleared;
  const Tree tree = tree_in(d_workspace, tiles_of(delta->n), 1);
  if (delta->d_momentum == nullptr) return run<DeltaMomentum::none>(*delta, tree, d_result, on);
  if (delta->is_nesterov) return run<DeltaMomentum::nesterov>(*delta, tree, d_result, on);
  return run<DeltaMomentum::plain>(*delta, tree, d_result, on);
}
