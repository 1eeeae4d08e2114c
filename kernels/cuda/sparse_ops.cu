// SPDX-License-Identifier: Apache-2.0
// Sparse updates; indices are unique, so nothing is atomic but the counts. Entries at random places
// are bound by their writes: a 32-byte sector each, in DRAM rows of their own. They are fastest
// where all threads together sweep over memory in order, one entry each, and where few are under
// way: 0.62 ms for 1e7 entries among 1e9 weights on an H200, against 0.69 with all the threads
// that fit and 0.84 with sixteen entries each; writing alone, without reading, takes 0.61.
#include "kernels/cuda/sparse_sums.cuh"
#include "kernels/cuda/tile_tree.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kBlockTiles = 4;                    // of a thread block that moves blocks
constexpr size_t kManyEntries = size_t{1} << 22;  // from here on few are under way
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

// Sum of the 256 lanes of a tile by halving, in each lane of the warp that calls.
__device__ double tile_sum(const double* lanes) {
  const int l = threadIdx.x % 32;
  const double even = (lanes[l] + lanes[l + 128]) + (lanes[l + 64] + lanes[l + 192]);
  const double odd = (lanes[l + 32] + lanes[l + 160]) + (lanes[l + 96] + lanes[l + 224]);
  return warp_sum(even + odd);
}

// kLogBlock = 0: entries of one value. A thread has one entry in each of kTiles tiles.
template <int kLogBlock, int kTiles>
__global__ void __launch_bounds__(kBlock)
    scatter(float* w, size_t n, const uint32_t* id, const float* value, size_t terms,
            kernels::SparseKind kind, float alpha, SparseWork work) {
  __shared__ double squares[kTiles][kBlock];
  const size_t first = blockIdx.x * size_t{kTiles * kBlock} + threadIdx.x;
  SparseSeen seen;
  size_t at[kTiles];
  float x[kTiles], old[kTiles];
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    const size_t e = first + j * kBlock;
    at[j] = n;
    x[j] = 0.0f;
    if (e < terms) {
      const uint32_t unit = kLogBlock == 0 ? __ldcs(id + e) : id[e >> kLogBlock];
      at[j] = (size_t{unit} << kLogBlock) + (e & ((1u << kLogBlock) - 1));
      x[j] = __ldcs(value + e);
    }
  }
#pragma unroll
  for (int j = 0; j < kTiles; ++j) old[j] = at[j] < n ? __ldcg(w + at[j]) : 0.0f;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    double u = 0.0;
    if (at[j] < n) {
      const kernels::SparseMove move = kernels::sparse_move(kind, alpha, old[j], x[j]);
      if (!move.is_bad) w[at[j]] = move.w;
      u = static_cast<double>(move.u);
      seen.see(move);
    }
    squares[j][threadIdx.x] = u * u;
  }
  count_seen(seen, work);
  __syncthreads();
  const int tile = threadIdx.x / 32;
  if (tile >= kTiles) return;
  const double sum = tile_sum(squares[tile]);
  const size_t place = blockIdx.x * size_t{kTiles} + tile;
  if (threadIdx.x % 32 == 0 && place * kBlock < terms) work.partial[place] = sum;
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

// Unused shared memory of a size that keeps two blocks on a multiprocessor.
template <typename Kernel>
cudaError_t half_of_shared_memory(Kernel kernel, int& bytes) {
  int device = 0, all = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  if (error != cudaSuccess) return error;
  constexpr int kUsed = 4096;  // by the kernel itself and by the system
  bytes = all / 2 < most ? all / 2 - kUsed : most - kUsed;
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                              cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <int kLogBlock>
int update(float* w, size_t n, const uint32_t* id, const float* value, size_t terms, int kind,
           float alpha, void* workspace, size_t bytes, HsCudaSparseStats* stats, void* stream) {
  cudaStream_t on = as_stream(stream);
  if (kind < 0 || kind > 1) return cudaErrorInvalidValue;
  if (alpha == 0.0f || terms == 0) return cudaMemsetAsync(stats, 0, sizeof *stats, on);
  if (bytes < hs_cuda_sparse_workspace(terms)) return cudaErrorInvalidValue;
  const SparseWork work = sparse_work(workspace);
  cudaError_t error = cudaMemsetAsync(workspace, 0, kSparseHead, on);
  if (error != cudaSuccess) return error;
  const size_t tiles = sparse_tiles(terms);
  constexpr int kTiles = kLogBlock == 0 ? 1 : kBlockTiles;
  const auto kernel = scatter<kLogBlock, kTiles>;
  const auto grid = static_cast<unsigned>((tiles + kTiles - 1) / kTiles);
  int memory = 0;
  if (kLogBlock == 0 && terms >= kManyEntries) error = half_of_shared_memory(kernel, memory);
  if (error != cudaSuccess) return error;
  kernel<<<grid, kBlock, static_cast<size_t>(memory), on>>>(
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
