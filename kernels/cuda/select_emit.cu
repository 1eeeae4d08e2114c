// SPDX-License-Identifier: Apache-2.0
// The ordered output. A warp counts what its tile keeps, one block turns counts into places, and a
// warp writes its tile's entries from there, 32 candidates at a time, bringing up to date what the
// array or the published values become. After a failed guess the tiles are read from the array.
#include "kernels/cuda/select_state.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kScanners = 1024;
constexpr size_t kTilesOfWire = kernels::kSelectWireTile / kSelectTile;

__device__ bool reads_array(const SelectState& state) {
  return state.is_repaired != 0 || state.is_overflown != 0;
}

struct TileReader {  // what a warp reads of its tile
  size_t begin, count;
  bool is_array;
  __device__ TileReader(const SelectSource& from, const SelectWork& work, size_t tile)
      : is_array(reads_array(*work.state)) {
    if (is_array) {
      begin = tile * kSelectTile;
      count = from.n - begin < kSelectTile ? from.n - begin : kSelectTile;
    } else {
      begin = work.slot[tile].x;
      count = work.slot[tile].y;
    }
  }
  __device__ float u(const SelectSource& from, const SelectWork& work, size_t j) const {
    if (j >= count) return 0.0f;
    return is_array ? from.u(begin + j) : __ldcs(work.value + begin + j);
  }
};

__device__ uint32_t kept_key(float u) {  // 0: never kept
  const uint32_t key = select_key(u);
  return key < kSelectEnd ? key : 0;
}

__global__ void count_tiles(SelectSource from, SelectWork work, size_t tiles) {
  const uint32_t tau = work.state->tau;
  const size_t warps = size_t{gridDim.x} * (kBlock / 32);
  const uint32_t lane = threadIdx.x % 32;
  for (size_t tile = (blockIdx.x * size_t{kBlock} + threadIdx.x) / 32; tile < tiles;
       tile += warps) {
    const TileReader reader(from, work, tile);
    uint32_t above = 0, at_tau = 0;
#pragma unroll 4
    for (size_t j = lane; j < reader.count; j += 32) {
      const uint32_t key = kept_key(reader.u(from, work, j));
      above += key > tau;
      at_tau += key == tau;
    }
    above = __reduce_add_sync(0xffffffffu, above);
    at_tau = __reduce_add_sync(0xffffffffu, at_tau);
    if (lane == 0) work.count[tile] = make_uint2(above, at_tau);
  }
}

// Exclusive sum over the block of two counts; `total` is that of all threads.
__device__ uint2 block_sum_before(uint2 mine, uint2& total) {
  __shared__ uint2 warp_sum[kScanners / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint2 sum = mine;
  for (int d = 1; d < 32; d *= 2) {
    const uint32_t x = __shfl_up_sync(0xffffffffu, sum.x, d);
    const uint32_t y = __shfl_up_sync(0xffffffffu, sum.y, d);
    if (lane >= d) sum.x += x, sum.y += y;
  }
  __syncthreads();  // an earlier call has been read
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  uint2 before = make_uint2(sum.x - mine.x, sum.y - mine.y);
  total = make_uint2(0, 0);
  for (int v = 0; v < kScanners / 32; ++v) {
    if (v < warp) before.x += warp_sum[v].x, before.y += warp_sum[v].y;
    total.x += warp_sum[v].x, total.y += warp_sum[v].y;
  }
  return before;
}

__device__ uint64_t place(uint32_t above, uint32_t at_tau, uint64_t ties) {
  return above + (at_tau < ties ? uint64_t{at_tau} : ties);
}

// One block: counts become those of the tiles before, wire tiles get their offsets. Sums fit in 32
// bits because n does.
__global__ void __launch_bounds__(kScanners)
    scan_tiles(SelectWork work, size_t tiles, HsCudaSelectOut out, HsCudaSelected* selected) {
  const SelectState& state = *work.state;
  constexpr size_t kEach = 4;
  uint2 carry = make_uint2(0, 0);
  for (size_t at = 0; at < tiles; at += kScanners * kEach) {
    const size_t first = at + threadIdx.x * kEach;
    uint2 count[kEach], mine = make_uint2(0, 0);
#pragma unroll
    for (size_t e = 0; e < kEach; ++e) {
      count[e] = first + e < tiles ? work.count[first + e] : make_uint2(0, 0);
      mine.x += count[e].x, mine.y += count[e].y;
    }
    uint2 total;
    uint2 before = block_sum_before(mine, total);
    before.x += carry.x, before.y += carry.y;
#pragma unroll
    for (size_t e = 0; e < kEach; ++e) {
      if (first + e >= tiles) break;
      work.count[first + e] = before;
      if ((first + e) % kTilesOfWire == 0) {
        const uint64_t to = place(before.x, before.y, state.ties);
        out.d_tile_begin[(first + e) / kTilesOfWire] = to < out.capacity ? to : out.capacity;
      }
      before.x += count[e].x, before.y += count[e].y;
    }
    carry.x += total.x, carry.y += total.y;
  }
  if (threadIdx.x == 0) {
    const uint64_t all = place(carry.x, carry.y, state.ties);
    out.d_tile_begin[(tiles + kTilesOfWire - 1) / kTilesOfWire] =
        all < out.capacity ? all : out.capacity;
    *selected = {all, state.bad, state.tau == kSelectEnd ? 0 : state.tau, reads_array(state)};
  }
}

__device__ void write_entry(const SelectSource& from, const HsCudaSelectOut& out, uint64_t to,
                            size_t i, float u) {
  out.d_index[to] = static_cast<uint32_t>(i);
  float value = u;
  if (from.published != nullptr) {
    const auto kind =
        from.is_absolute ? kernels::PublishKind::kAbsolute : kernels::PublishKind::kDelta;
    const float w = from.is_absolute ? from.w[i] : 0.0f;
    const float published = from.is_absolute ? 0.0f : from.published[i];
    if (from.is_absolute) value = w;
    from.published[i] = kernels::published_after(kind, w, published, u);
  } else if (from.clears) {
    from.w[i] = 0.0f;
  }
  out.d_value[to] = value;
}

__global__ void emit_tiles(SelectSource from, SelectWork work, size_t tiles, HsCudaSelectOut out) {
  const uint32_t tau = work.state->tau;
  const uint64_t ties = work.state->ties;
  const size_t warps = size_t{gridDim.x} * (kBlock / 32);
  const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1;
  for (size_t tile = (blockIdx.x * size_t{kBlock} + threadIdx.x) / 32; tile < tiles;
       tile += warps) {
    const TileReader reader(from, work, tile);
    const uint2 before = work.count[tile];
    uint64_t to = place(before.x, before.y, ties), at_tau = before.y;
    for (size_t j = 0; j < reader.count; j += 32) {
      const float u = reader.u(from, work, j + lane);
      const uint32_t key = kept_key(u);
      const uint32_t equal = __ballot_sync(0xffffffffu, key == tau);
      const bool is_kept = key > tau || (key == tau && at_tau + __popc(equal & below) < ties);
      const uint32_t kept = __ballot_sync(0xffffffffu, is_kept);
      const uint64_t mine = to + __popc(kept & below);
      if (is_kept && mine < out.capacity) {
        const size_t i =
            reader.is_array ? reader.begin + j + lane : work.index[reader.begin + j + lane];
        write_entry(from, out, mine, i, u);
      }
      at_tau += __popc(equal);
      to += __popc(kept);
    }
  }
}

}  // namespace

void select_emit(const SelectSource& from, const SelectWork& work, const HsCudaSelectOut& out,
                 HsCudaSelected* selected, int grid, cudaStream_t on) {
  const size_t tiles = select_tiles(from.n);
  if (tiles > 0) count_tiles<<<grid, kBlock, 0, on>>>(from, work, tiles);
  scan_tiles<<<1, kScanners, 0, on>>>(work, tiles, out, selected);
  if (tiles > 0) emit_tiles<<<grid, kBlock, 0, on>>>(from, work, tiles, out);
}

}  // namespace hearsay::cuda
