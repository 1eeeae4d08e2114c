// SPDX-License-Identifier: Apache-2.0
// Sparse updates: a block per 4096 entries, sixteen independent gathers in flight a thread; indices
// are unique, so nothing is atomic but the counts.
#include "kernels/cuda/sparse_sums.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kEach = static_cast<int>(kTile) / kBlock;
constexpr int kInFlight = 8;
constexpr int kTop = static_cast<int>(kernels::kSparseTopLanes);
constexpr int kCheckGrid = 2048;

__global__ void find_disorder(const uint32_t* index, size_t count, size_t n, uint32_t* disorder) {
  bool is_wrong = false;
  for (size_t i = blockIdx.x * size_t{kBlock} + threadIdx.x; i < count;
       i += size_t{kBlock} * gridDim.x) {
    const uint32_t mine = index[i];
    is_wrong |= i + 1 < count ? mine >= index[i + 1] : mine >= n;
  }
  if (__any_sync(0xffffffffu, is_wrong) && threadIdx.x % 32 == 0) *disorder = 1;
}

// kLogBlock = 0: entries of one value.
template <int kLogBlock>
__global__ void __launch_bounds__(kBlock)
    scatter(float* w, size_t n, const uint32_t* id, const float* value, size_t terms,
            kernels::SparseKind kind, float alpha, SparseWork work) {
  __shared__ double scratch[kBlock];
  const size_t first = blockIdx.x * kTile + threadIdx.x;
  SparseSeen seen;
  double sum = 0.0;
#pragma unroll
  for (int half = 0; half < kEach; half += kInFlight) {
    size_t at[kInFlight];
    float x[kInFlight], old[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const size_t e = first + (half + j) * size_t{kBlock};
      at[j] = n;
      x[j] = 0.0f;
      if (e < terms) {
        at[j] = (size_t{id[e >> kLogBlock]} << kLogBlock) + (e & ((1u << kLogBlock) - 1));
        x[j] = __ldcs(value + e);
      }
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) old[j] = at[j] < n ? w[at[j]] : 0.0f;
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (at[j] >= n) continue;
      const kernels::SparseMove move = kernels::sparse_move(kind, alpha, old[j], x[j]);
      if (!move.is_bad) w[at[j]] = move.w;
      sum += static_cast<double>(move.u) * static_cast<double>(move.u);
      seen.see(move);
    }
  }
  const double tile = halved<kBlock>(sum, scratch);
  if (threadIdx.x == 0) work.partial[blockIdx.x] = tile;
  count_seen(seen, work);
}

__global__ void __launch_bounds__(kTop)
    finish(SparseWork work, size_t tiles, HsCudaSparseStats* stats) {
  __shared__ double scratch[kTop];
  double sum = 0.0;
#pragma unroll 8
  for (size_t t = threadIdx.x; t < tiles; t += kTop) sum += work.partial[t];
  sum = halved<kTop>(sum, scratch);
  if (threadIdx.x != 0) return;
  *stats = {sum, work.counts[0], work.counts[1],
            __uint_as_float(static_cast<uint32_t>(work.counts[2])), 0};
}

}  // namespace

void sparse_finish(const SparseWork& work, size_t tiles, HsCudaSparseStats* stats,
                   cudaStream_t on) {
  finish<<<1, kTop, 0, on>>>(work, tiles, stats);
}

}  // namespace hearsay::cuda

using namespace hearsay::cuda;

extern "C" int hs_cuda_are_ascending(const uint32_t* d_index, size_t count, size_t n,
                                     uint32_t* d_disorder, void* stream) {
  cudaStream_t on = as_stream(stream);
  const cudaError_t error = cudaMemsetAsync(d_disorder, 0, sizeof(uint32_t), on);
  if (error != cudaSuccess || count == 0) return error;
  const size_t blocks = (count + kBlock - 1) / kBlock;
  find_disorder<<<static_cast<unsigned>(blocks < kCheckGrid ? blocks : kCheckGrid), kBlock, 0,
                  on>>>(d_index, count, n, d_disorder);
  return cudaGetLastError();
}

extern "C" size_t hs_cuda_sparse_workspace(size_t terms) {
  return kSparseHead + sparse_tiles(terms) * sizeof(double);
}

namespace {

template <int kLogBlock>
int update(float* w, size_t n, const uint32_t* id, const float* value, size_t terms, int kind,
           float alpha, void* workspace, size_t bytes, HsCudaSparseStats* stats, void* stream) {
  cudaStream_t on = as_stream(stream);
  if (kind < 0 || kind > 1) return cudaErrorInvalidValue;
  if (alpha == 0.0f || terms == 0) return cudaMemsetAsync(stats, 0, sizeof *stats, on);
  if (bytes < hs_cuda_sparse_workspace(terms)) return cudaErrorInvalidValue;
  const SparseWork work = sparse_work(workspace);
  const cudaError_t error = cudaMemsetAsync(workspace, 0, kSparseHead, on);
  if (error != cudaSuccess) return error;
  const size_t tiles = sparse_tiles(terms);
  scatter<kLogBlock><<<static_cast<unsigned>(tiles), kBlock, 0, on>>>(
      w, n, id, value, terms, static_cast<hearsay::kernels::SparseKind>(kind), alpha, work);
  sparse_finish(work, tiles, stats, on);
  return cudaGetLastError();
}

}  // namespace

extern "C" int hs_cuda_sparse_ema(float* d_w, size_t n, const uint32_t* d_index,
                                  const float* d_value, size_t count, int kind, float alpha,
                                  void* d_workspace, size_t workspace_bytes,
                                  HsCudaSparseStats* d_stats, void* stream) {
  return update<0>(d_w, n, d_index, d_value, count, kind, alpha, d_workspace, workspace_bytes,
                   d_stats, stream);
}

extern "C" int hs_cuda_sparse_ema_blocks(float* d_w, size_t n, const uint32_t* d_block_id,
                                         const float* d_value, size_t count, size_t block, int kind,
                                         float alpha, void* d_workspace, size_t workspace_bytes,
                                         HsCudaSparseStats* d_stats, void* stream) {
  const auto call = block == 8 ? update<3> : block == 16 ? update<4> : update<5>;
  if (block != 8 && block != 16 && block != 32) return cudaErrorInvalidValue;
  return call(d_w, n, d_block_id, d_value, count * block, kind, alpha, d_workspace, workspace_bytes,
              d_stats, stream);
}
