// SPDX-License-Identifier: Apache-2.0
// Merge of several lists. A block owns a wire tile and walks its sixteen work tiles: sums of 4096
// weights in shared memory, the lists one after the other with a barrier between, so that every
// weight adds its contributions in the order of the lists. Entries of eight lists are on their way
// at a time; the weights that were touched are read and written once.
#include "kernels/cuda/sparse_sums.cuh"
#include "kernels/ops/select_math.hpp"

namespace hearsay::cuda {
namespace {

constexpr int kMost = 32;  // lists
constexpr int kGroup = 8;  // lists whose entries are loaded together
constexpr int kWorkTiles = static_cast<int>(kernels::kSelectWireTile / kTile);
constexpr int kEach = static_cast<int>(kTile) / kBlock;

struct Lists {  // kernel argument
  HsCudaSparseList list[kMost];
  int count;
};

struct Sums {
  float sum[kTile];
  float weight[kTile];
  unsigned char present[kTile];
};

// First entry of [begin, end) whose index is not below `bound`.
__device__ uint64_t lower_bound(const uint32_t* index, uint64_t begin, uint64_t end, size_t bound) {
  while (begin < end) {
    const uint64_t middle = (begin + end) / 2;
    if (index[middle] < bound) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

__device__ void add(Sums& sums, uint32_t index, float value, float weight, SparseSeen& seen) {
  const float x = weight * value;
  if (!kernels::is_finite_value(x)) {
    ++seen.bad;
    return;
  }
  const uint32_t i = index % kTile;
  const bool is_first = sums.present[i] == 0;
  sums.sum[i] = is_first ? x : sums.sum[i] + x;
  sums.weight[i] = is_first ? weight : sums.weight[i] + weight;
  sums.present[i] = 1;
}

// Adds what all lists have for one work tile; bound[s] .. bound[s] + size are their entries.
__device__ void add_lists(const Lists& lists, const uint64_t (*bound)[kWorkTiles + 1], int tile,
                          Sums& sums, SparseSeen& seen) {
  for (int group = 0; group < lists.count; group += kGroup) {
    uint32_t index[kGroup];
    float value[kGroup];
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
      if (group + s >= lists.count) break;
      const uint64_t e = bound[group + s][tile] + threadIdx.x;
      if (e < bound[group + s][tile + 1]) {
        index[s] = __ldcs(lists.list[group + s].d_index + e);
        value[s] = __ldcs(lists.list[group + s].d_value + e);
      }
    }
#pragma unroll
    for (int s = 0; s < kGroup; ++s) {
      if (group + s >= lists.count) break;
      const HsCudaSparseList& list = lists.list[group + s];
      const uint64_t end = bound[group + s][tile + 1];
      uint64_t e = bound[group + s][tile] + threadIdx.x;
      if (e < end) add(sums, index[s], value[s], list.weight, seen);
      for (e += kBlock; e < end; e += kBlock) {
        add(sums, __ldcs(list.d_index + e), __ldcs(list.d_value + e), list.weight, seen);
      }
      __syncthreads();
    }
  }
}

struct Move {
  kernels::MergeNorm norm;
  kernels::SparseKind kind;
  float alpha;
};

// Moves the weights of a work tile that are present; returns this lane's sum and forgets them.
__device__ double apply(const Move& how, float* w, size_t begin, size_t n, Sums& sums,
                        SparseSeen& seen) {
  float old[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const uint32_t i = threadIdx.x + j * kBlock;
    old[j] = sums.present[i] != 0 ? w[begin + i] : 0.0f;
  }
  double sum = 0.0;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const uint32_t i = threadIdx.x + j * kBlock;
    if (sums.present[i] == 0) continue;
    sums.present[i] = 0;
    const float x =
        how.norm == kernels::MergeNorm::kPresentWeight ? sums.sum[i] / sums.weight[i] : sums.sum[i];
    const kernels::SparseMove move = kernels::sparse_move(how.kind, how.alpha, old[j], x);
    if (!move.is_bad) w[begin + i] = move.w;
    sum += static_cast<double>(move.u) * static_cast<double>(move.u);
    seen.see(move);
    ++seen.touched;
  }
  return sum;
}

__global__ void __launch_bounds__(kBlock, 4)
    merge(float* w, size_t n, __grid_constant__ const Lists lists, Move how, SparseWork work) {
  __shared__ Sums sums;
  __shared__ uint64_t bound[kMost][kWorkTiles + 1];
  __shared__ double scratch[kBlock];
  const size_t wire = blockIdx.x, wire_begin = wire * kernels::kSelectWireTile;
  for (int j = threadIdx.x; j < static_cast<int>(kTile); j += kBlock) sums.present[j] = 0;
  for (int j = threadIdx.x; j < lists.count * (kWorkTiles + 1); j += kBlock) {
    const int s = j / (kWorkTiles + 1), tile = j % (kWorkTiles + 1);
    const HsCudaSparseList& list = lists.list[s];
    bound[s][tile] = lower_bound(list.d_index, list.d_tile_begin[wire], list.d_tile_begin[wire + 1],
                                 wire_begin + tile * kTile);
  }
  __syncthreads();
  SparseSeen seen;
  for (int tile = 0; tile < kWorkTiles; ++tile) {
    const size_t begin = wire_begin + tile * kTile;
    if (begin >= n) break;
    add_lists(lists, bound, tile, sums, seen);
    const double sum = halved<kBlock>(apply(how, w, begin, n, sums, seen), scratch);
    if (threadIdx.x == 0) work.partial[begin / kTile] = sum;
    __syncthreads();
  }
  count_seen(seen, work);
}

}  // namespace
}  // namespace hearsay::cuda

extern "C" int hs_cuda_merge_lists(float* d_w, size_t n, const HsCudaSparseList* lists,
                                   size_t list_count, int norm, int kind, float alpha,
                                   void* d_workspace, size_t workspace_bytes,
                                   HsCudaSparseStats* d_stats, void* stream) {
  using namespace hearsay::cuda;
  cudaStream_t on = as_stream(stream);
  if (list_count > kMost || n > 0xffffffffu || norm < 0 || norm > 1 || kind < 0 || kind > 1) {
    return cudaErrorInvalidValue;
  }
  if (alpha == 0.0f || n == 0 || list_count == 0) {
    return cudaMemsetAsync(d_stats, 0, sizeof *d_stats, on);
  }
  if (workspace_bytes < hs_cuda_sparse_workspace(n)) return cudaErrorInvalidValue;
  const SparseWork work = sparse_work(d_workspace);
  const cudaError_t error = cudaMemsetAsync(d_workspace, 0, kSparseHead, on);
  if (error != cudaSuccess) return error;
  Lists all{};
  all.count = static_cast<int>(list_count);
  for (size_t s = 0; s < list_count; ++s) all.list[s] = lists[s];
  const size_t wires =
      (n + hearsay::kernels::kSelectWireTile - 1) / hearsay::kernels::kSelectWireTile;
  const Move how{static_cast<hearsay::kernels::MergeNorm>(norm),
                 static_cast<hearsay::kernels::SparseKind>(kind), alpha};
  merge<<<static_cast<unsigned>(wires), kBlock, 0, on>>>(d_w, n, all, how, work);
  sparse_finish(work, merge_tiles(n), d_stats, on);
  return cudaGetLastError();
}
