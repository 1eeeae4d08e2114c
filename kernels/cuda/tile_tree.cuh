// SPDX-License-Identifier: Apache-2.0
// The GPU side of kernels/core/tile_tree.hpp. A block of 256 threads takes a tile; each of its
// eight warps writes its part of the sum, so blocks never wait inside the loop (64 bytes of parts a
// tile: 0.13 % of an fp32 merge). Up to 1024 tiles the block that ends last adds them up; beyond
// that a second kernel does, with one block a group.
#pragma once

#include "kernels/core/tile_tree.hpp"
#include "kernels/cuda/launch.cuh"

namespace hearsay::cuda {

using kernels::kGroupTiles;
using kernels::kRowValues;

// At the front of a workspace. All zero before the first call; every call leaves it so.
struct TreeHeader {
  unsigned ticket, group_ticket, max_bits, unused;
  unsigned long long bad, changed;
};
inline constexpr size_t kHeaderBytes = 256;

struct Tree {
  TreeHeader* header;
  double *parts, *groups;  // of sum s: parts + s * 8 * tiles, groups + s * group_count
  size_t tiles;
};

constexpr size_t groups_of(size_t tiles) { return (tiles + kGroupTiles - 1) / kGroupTiles; }

constexpr size_t tree_bytes(size_t tiles, size_t sums) {
  return kHeaderBytes + sizeof(double) * sums * (8 * tiles + groups_of(tiles));
}

inline Tree tree_in(void* workspace, size_t tiles, size_t sums) {
  double* parts = reinterpret_cast<double*>(static_cast<char*>(workspace) + kHeaderBytes);
  return {static_cast<TreeHeader*>(workspace), parts, parts + 8 * sums * tiles, tiles};
}

// As many blocks as stay resident, or as there are tiles. Each block has something to do, except
// that there is one for no tile: it writes the empty result.
inline unsigned tile_grid(size_t tiles, int resident) {
  const size_t most = static_cast<size_t>(resident);
  return static_cast<unsigned>(tiles == 0 ? 1 : tiles < most ? tiles : most);
}

__device__ inline double warp_sum(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

// The four accumulators of this thread in `tile`.
__device__ inline void store_sum(const double (&sums)[4], double* parts, size_t tile) {
  const double warp = warp_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x % 32 == 0) __stcg(parts + 8 * tile + threadIdx.x / 32, warp);
}

// Whole block; the result is in all threads. `slot` of 256 threads along the upper half of the
// tree.
__device__ inline double block_sum(double slot) {
  __shared__ double warps[8];
  const double warp = warp_sum(slot);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = warp;
  __syncthreads();
  double sum = 0.0;
  for (int w = 0; w < 8; ++w) sum += warps[w];
  __syncthreads();
  return sum;
}

__device__ inline double group_sum(const double* parts, size_t first, size_t tiles) {
  double slot = 0.0;
  for (size_t tile = first + threadIdx.x; tile < min(tiles, first + kGroupTiles); tile += kBlock) {
    double sum = 0.0;
    for (int w = 0; w < 8; ++w) sum += __ldcg(parts + 8 * tile + w);
    slot += sum;
  }
  return block_sum(slot);
}

// Whole block: true in the block that comes last, which then sees what the others have written. The
// ticket is 0 again afterwards.
__device__ inline bool is_last_block(unsigned* ticket) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

// In the last block, when all tiles are in one group.
template <int kSums>
__device__ void finish_small(const Tree& tree, double* out) {
  if (tree.tiles > kGroupTiles) return;
  for (int s = 0; s < kSums; ++s) {
    const double sum = group_sum(tree.parts + 8 * tree.tiles * s, 0, tree.tiles);
    if (threadIdx.x == 0) out[s] = 0.0 + sum;
  }
}

template <int kSums>
__global__ void sum_groups(Tree tree, double* out) {
  __shared__ double loaded[kBlock];
  const size_t first = blockIdx.x * kGroupTiles;
  for (int s = 0; s < kSums; ++s) {
    const double sum = group_sum(tree.parts + 8 * tree.tiles * s, first, tree.tiles);
    if (threadIdx.x == 0) __stcg(tree.groups + size_t{gridDim.x} * s + blockIdx.x, sum);
  }
  if (!is_last_block(&tree.header->group_ticket)) return;
  for (int s = 0; s < kSums; ++s) {
    double total = 0.0;
    for (unsigned begin = 0; begin < gridDim.x; begin += kBlock) {
      const unsigned group = begin + threadIdx.x, count = min(gridDim.x - begin, unsigned{kBlock});
      if (group < gridDim.x) {
        loaded[threadIdx.x] = __ldcg(tree.groups + size_t{gridDim.x} * s + group);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        for (unsigned i = 0; i < count; ++i) total += loaded[i];
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) out[s] = total;
  }
}

// After the kernel that wrote the parts. Host side.
template <int kSums>
cudaError_t finish_large(const Tree& tree, double* d_out, cudaStream_t stream) {
  if (tree.tiles > kGroupTiles) {
    sum_groups<kSums>
        <<<static_cast<unsigned>(groups_of(tree.tiles)), kBlock, 0, stream>>>(tree, d_out);
  }
  return cudaGetLastError();
}

// Counts of a block, then of the grid: integers, the same in any order.
struct BlockCounts {
  unsigned max_bits;
  unsigned long long bad, changed;
};
__device__ inline BlockCounts block_counts(unsigned max_bits, unsigned bad, unsigned changed) {
  __shared__ unsigned words[3][8];
  const unsigned warp = threadIdx.x / 32;
  max_bits = __reduce_max_sync(~0u, max_bits);
  bad = __reduce_add_sync(~0u, bad);
  changed = __reduce_add_sync(~0u, changed);
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    words[0][warp] = max_bits;
    words[1][warp] = bad;
    words[2][warp] = changed;
  }
  __syncthreads();
  BlockCounts all{};
  for (int w = 0; w < 8; ++w) {
    all.max_bits = max(all.max_bits, words[0][w]);
    all.bad += words[1][w];
    all.changed += words[2][w];
  }
  return all;
}

}  // namespace hearsay::cuda
