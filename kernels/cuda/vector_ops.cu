// SPDX-License-Identifier: Apache-2.0
// Sums over one to four arrays along the canonical tree, and axpy. A family of terms says which
// arrays it reads and what a value adds; the loop, the tree and the end are the same for all.
#include "kernels/cuda/quads.cuh"
#include "kernels/cuda/tile_tree.cuh"
#include "kernels/cuda/vector_api.h"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr int kAxpyBlocks = 4;
constexpr size_t kMostSums = 4;

// Blocks a multiprocessor: fp64 accumulators and loads in flight want more than 64 registers.
template <typename Terms>
constexpr int kResident = Terms::kArrays == 1 ? 4 : 2;

template <int kArrays>
struct Arrays {
  const float* at[kArrays];
};

struct NormTerms {
  static constexpr int kArrays = 1, kSums = 1;
  static constexpr bool kCountsBad = false;
  __device__ static void terms(const float (&x)[1], double (&out)[1]) {
    out[0] = static_cast<double>(x[0]) * static_cast<double>(x[0]);
  }
};

struct DotTerms {
  static constexpr int kArrays = 2, kSums = 1;
  static constexpr bool kCountsBad = false;
  __device__ static void terms(const float (&x)[2], double (&out)[1]) {
    out[0] = static_cast<double>(x[0]) * static_cast<double>(x[1]);
  }
};

struct DistanceTerms {
  static constexpr int kArrays = 2, kSums = 1;
  static constexpr bool kCountsBad = false;
  __device__ static void terms(const float (&x)[2], double (&out)[1]) {
    const double d = static_cast<double>(x[0] - x[1]);
    out[0] = d * d;
  }
};

// Arrays: w, in, then base and mark where there are.
template <bool kHasBase, bool kHasMark>
struct StatsTerms {
  static constexpr int kArrays = 2 + kHasBase + kHasMark, kSums = kHasMark ? 4 : 2;
  static constexpr bool kCountsBad = true;
  __device__ static void terms(const float (&x)[kArrays], double (&out)[kSums]) {
    const double w = static_cast<double>(x[0]);
    const double d = static_cast<double>(x[1] - x[kHasBase ? 2 : 0]);
    out[0] = d * d;
    out[1] = w * w;
    if constexpr (kHasMark) {
      const double moved = static_cast<double>(x[0] - x[kArrays - 1]);
      out[2] = moved * moved;
      out[3] = d * moved;
    }
  }
};

__device__ unsigned is_bad(float x) { return (float_bits(x) & kInfinity) == kInfinity ? 1u : 0u; }

template <typename Terms, bool kWhole>
__device__ void add_tile(const Arrays<Terms::kArrays>& arrays, size_t begin, size_t n,
                         double (&sums)[Terms::kSums][4], unsigned& bad) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const size_t at = begin + 4 * threadIdx.x + kRowValues * k;
    Quad<float> quads[Terms::kArrays];
#pragma unroll
    for (int a = 0; a < Terms::kArrays; ++a) quads[a] = load<kWhole>(arrays.at[a], at, n);
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (!kWhole && at + c >= n) continue;
      float x[Terms::kArrays];
      double terms[Terms::kSums];
#pragma unroll
      for (int a = 0; a < Terms::kArrays; ++a) x[a] = quads[a].at[c];
      Terms::terms(x, terms);
#pragma unroll
      for (int s = 0; s < Terms::kSums; ++s) sums[s][c] += terms[s];
      if constexpr (Terms::kCountsBad) bad += is_bad(x[0]) + is_bad(x[1]);
    }
  }
}

// out: kSums sums, then `zeros` zeros.
template <typename Terms>
__global__ __launch_bounds__(kBlock,
                             kResident<Terms>) void sum_kernel(const Arrays<Terms::kArrays> arrays,
                                                               size_t n, bool is_aligned, Tree tree,
                                                               double* out, int zeros,
                                                               unsigned long long* bad_out) {
  unsigned bad = 0;
  for (size_t tile = blockIdx.x; tile < tree.tiles; tile += gridDim.x) {
    const size_t begin = tile * kTileValues;
    double sums[Terms::kSums][4] = {};
    if (is_aligned && n - begin >= kTileValues) {
      add_tile<Terms, true>(arrays, begin, n, sums, bad);
    } else {
      add_tile<Terms, false>(arrays, begin, n, sums, bad);
    }
#pragma unroll
    for (int s = 0; s < Terms::kSums; ++s)
      store_sum(sums[s], tree.parts + 8 * tree.tiles * s, tile);
  }
  if constexpr (Terms::kCountsBad) {
    const BlockCounts counts = block_counts(0, bad, 0);
    if (threadIdx.x == 0 && counts.bad != 0) atomicAdd(&tree.header->bad, counts.bad);
  }
  if (!is_last_block(&tree.header->ticket)) return;
  if (threadIdx.x == 0) {
    for (int z = 0; z < zeros; ++z) out[Terms::kSums + z] = 0.0;
    if constexpr (Terms::kCountsBad) *bad_out = atomicExch(&tree.header->bad, 0ull);
  }
  finish_small<Terms::kSums>(tree, out);
}

template <typename Terms>
cudaError_t run(const Arrays<Terms::kArrays>& arrays, size_t n, void* workspace, double* out,
                int zeros, unsigned long long* bad_out, void* stream) {
  cudaError_t error = cudaSuccess;
  const int resident = multiprocessors(error) * kResident<Terms>;
  if (error != cudaSuccess) return error;
  bool is_aligned = true;
  for (const float* each : arrays.at) is_aligned = is_aligned && is_aligned16(each);
  const Tree tree = tree_in(workspace, tiles_of(n), Terms::kSums);
  sum_kernel<Terms><<<tile_grid(tree.tiles, resident), kBlock, 0, as_stream(stream)>>>(
      arrays, n, is_aligned, tree, out, zeros, bad_out);
  return finish_large<Terms::kSums>(tree, out, as_stream(stream));
}

__global__ __launch_bounds__(kBlock, kAxpyBlocks) void axpy_kernel(float a, const float* x,
                                                                   float* y, size_t n,
                                                                   bool is_aligned) {
  for (size_t tile = blockIdx.x; tile * kTileValues < n; tile += gridDim.x) {
    const size_t begin = tile * kTileValues + 4 * threadIdx.x;
    const bool is_whole = is_aligned && n - tile * kTileValues >= kTileValues;
    Quad<float> xs[4], ys[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const size_t at = begin + kRowValues * k;
      xs[k] = is_whole ? load<true>(x, at, n) : load<false>(x, at, n);
      ys[k] = is_whole ? load<true>(y, at, n) : load<false>(y, at, n);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int c = 0; c < 4; ++c) ys[k].at[c] += a * xs[k].at[c];  // two roundings: --fmad=false
      const size_t at = begin + kRowValues * k;
      if (is_whole) {
        store<true>(y, at, n, ys[k]);
      } else {
        store<false>(y, at, n, ys[k]);
      }
    }
  }
}

}  // namespace

extern "C" size_t hs_cuda_sums_workspace_bytes(size_t n) {
  return tree_bytes(tiles_of(n), kMostSums);
}

extern "C" int hs_cuda_dot(const float* d_x, const float* d_y, size_t n, void* d_workspace,
                           double* d_result, void* stream) {
  if (d_y == nullptr || d_y == d_x) {
    return run<NormTerms>({{d_x}}, n, d_workspace, d_result, 0, nullptr, stream);
  }
  return run<DotTerms>({{d_x, d_y}}, n, d_workspace, d_result, 0, nullptr, stream);
}

extern "C" int hs_cuda_squared_distance(const float* d_a, const float* d_b, size_t n,
                                        void* d_workspace, double* d_result, void* stream) {
  if (d_b == nullptr) return run<NormTerms>({{d_a}}, n, d_workspace, d_result, 0, nullptr, stream);
  return run<DistanceTerms>({{d_a, d_b}}, n, d_workspace, d_result, 0, nullptr, stream);
}

extern "C" int hs_cuda_merge_stats(const float* d_w, const float* d_in, const float* d_base,
                                   const float* d_mark, size_t n, void* d_workspace,
                                   HsMergeStats* d_result, void* stream) {
  double* const out = &d_result->displacement_sq;
  unsigned long long* const bad = &d_result->bad;
  if (d_base == nullptr && d_mark == nullptr) {
    return run<StatsTerms<false, false>>({{d_w, d_in}}, n, d_workspace, out, 2, bad, stream);
  }
  if (d_mark == nullptr) {
    return run<StatsTerms<true, false>>({{d_w, d_in, d_base}}, n, d_workspace, out, 2, bad, stream);
  }
  if (d_base == nullptr) {
    return run<StatsTerms<false, true>>({{d_w, d_in, d_mark}}, n, d_workspace, out, 0, bad, stream);
  }
  return run<StatsTerms<true, true>>({{d_w, d_in, d_base, d_mark}}, n, d_workspace, out, 0, bad,
                                     stream);
}

extern "C" int hs_cuda_axpy(float a, const float* d_x, float* d_y, size_t n, void* stream) {
  if (n == 0) return 0;
  cudaError_t error = cudaSuccess;
  const int resident = multiprocessors(error) * kAxpyBlocks;
  if (error != cudaSuccess) return error;
  axpy_kernel<<<tile_grid(tiles_of(n), resident), kBlock, 0, as_stream(stream)>>>(
      a, d_x, d_y, n, is_aligned16(d_x) && is_aligned16(d_y));
  return cudaGetLastError();
}
