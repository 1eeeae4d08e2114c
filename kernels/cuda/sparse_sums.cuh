// SPDX-License-Identifier: Apache-2.0
// The sums of a sparse update on the device: 256 lanes of a tile halved as on the CPU; then one
// block of 1024 lanes over the tiles.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sparse_api.h"
#include "kernels/ops/sparse_math.hpp"

namespace hearsay::cuda {

static_assert(kernels::kSparseLanes == kBlock && kernels::kSparseTile == kBlock &&
              kernels::kMergeTile == kTile);

struct SparseWork {
  unsigned long long* counts;  // bad, touched, the key of the maximum
  double* partial;             // of each tile
};

inline size_t sparse_tiles(size_t terms) { return (terms + kBlock - 1) / kBlock; }
inline size_t merge_tiles(size_t n) { return (n + kTile - 1) / kTile; }
inline constexpr size_t kSparseHead = 256;  // bytes of counts

inline SparseWork sparse_work(void* memory) {
  char* at = static_cast<char*>(memory);
  return {reinterpret_cast<unsigned long long*>(at), reinterpret_cast<double*>(at + kSparseHead)};
}

// What a thread saw.
struct SparseSeen {
  uint32_t max_key = 0, bad = 0, touched = 0;
  __device__ void see(const kernels::SparseMove& move) {
    max_key = max(max_key, __float_as_uint(move.u) & 0x7fffffffu);
    bad += move.is_bad;
  }
};

// Sum of kLanes threads' values by halving; valid in thread 0. `scratch` holds kLanes doubles and
// has been left by everyone.
template <int kLanes>
__device__ double halved(double mine, double* scratch) {
  const int lane = threadIdx.x;
  scratch[lane] = mine;
  __syncthreads();
#pragma unroll
  for (int width = kLanes / 2; width >= 32; width /= 2) {
    if (lane < width) scratch[lane] += scratch[lane + width];
    __syncthreads();
  }
  double sum = 0.0;
  if (lane < 32) {
    sum = scratch[lane];
#pragma unroll
    for (int width = 16; width > 0; width /= 2) sum += __shfl_down_sync(0xffffffffu, sum, width);
  }
  return sum;
}

__device__ inline void count_seen(const SparseSeen& seen, const SparseWork& work) {
  const uint32_t bad = __reduce_add_sync(0xffffffffu, seen.bad);
  const uint32_t touched = __reduce_add_sync(0xffffffffu, seen.touched);
  const uint32_t max_key = __reduce_max_sync(0xffffffffu, seen.max_key);
  if (threadIdx.x % 32 != 0) return;
  if (bad > 0) atomicAdd(work.counts, static_cast<unsigned long long>(bad));
  if (touched > 0) atomicAdd(work.counts + 1, static_cast<unsigned long long>(touched));
  // A look first: few warps find a new maximum, and atomics on one address stand in line.
  if (max_key > __ldcg(work.counts + 2)) {
    atomicMax(work.counts + 2, static_cast<unsigned long long>(max_key));
  }
}

// Sums the partials of `tiles` tiles into *stats; defined in sparse_ops.cu.
void sparse_finish(const SparseWork& work, size_t tiles, HsCudaSparseStats* stats, cudaStream_t on);

}  // namespace hearsay::cuda
