// SPDX-License-Identifier: Apache-2.0
// The ordered output. A block counts what the tiles of its group keep and where each begins in it;
// then a warp a tile writes its entries from there, 32 candidates at a time, and brings up to date
// what the dense pass has not. After a failed guess the tiles are read from the array.
#include "kernels/cuda/select_state.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kWarps = kBlock / 32;
constexpr int kTilesEach = static_cast<int>(kSelectGroup) / kWarps;  // of a warp that counts
constexpr int kAtOnce = 4;  // entries of a lane; a tile has about 88 candidates at 1 %
constexpr size_t kTilesOfWire = kernels::kSelectWireTile / kSelectTile;
constexpr size_t kTilesOfBlock = 64;  // that one block emits; a part of a group
static_assert(kTilesEach == 32 && kSelectGroup == kBlock && kSelectGroup % kTilesOfBlock == 0);

struct TileReader {  // what a warp reads of its tile
  size_t begin, count;
  bool is_array;
  template <typename T>
  __device__ TileReader(const SelectSource<T>& from, const SelectWork& work, size_t tile)
      : is_array(reads_array(*work.state)) {
    if (is_array) {
      begin = tile * kSelectTile;
      count = from.n - begin < kSelectTile ? from.n - begin : kSelectTile;
    } else {
      const uint2 slot = work.slot[tile];
      begin = slot.x;
      count = slot.y;
    }
  }
  __device__ size_t index(const SelectWork& work, size_t j) const {
    return is_array ? begin + j : work.index[begin + j];
  }
};

// What a lane reads of a tile at a time, all of it under way at once: entries j, j + 32, ... Beyond
// the end: zeros, which are never kept.
struct Entries {
  float weight[kAtOnce], old[kAtOnce];
  template <typename T>
  __device__ Entries(const SelectSource<T>& from, const SelectWork& work, const TileReader& reader,
                     size_t j) {
    const bool has_old = from.published != nullptr;
    if (reader.is_array)
      read(from.w + reader.begin, has_old ? from.published + reader.begin : nullptr, reader.count,
           j);
    else
      read(work.value + reader.begin, has_old ? work.old + reader.begin : nullptr, reader.count, j);
  }
  template <typename T>
  __device__ void read(const T* weights, const T* olds, size_t count, size_t j) {
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const bool is_there = j + 32 * r < count;
      weight[r] = is_there ? load_once(weights + j + 32 * r) : 0.0f;
      old[r] = is_there && olds != nullptr ? load_once(olds + j + 32 * r) : 0.0f;
    }
  }
};

__device__ uint32_t kept_key(float u) {  // 0: never kept
  const uint32_t key = select_key(u);
  return key < kSelectEnd ? key : 0;
}

// Exclusive sum over the block of two counts; `total` is that of all threads.
__device__ uint2 block_sum_before(uint2 mine, uint2& total) {
  __shared__ uint2 warp_sum[kWarps];
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
  for (int v = 0; v < kWarps; ++v) {
    if (v < warp) before.x += warp_sum[v].x, before.y += warp_sum[v].y;
    total.x += warp_sum[v].x, total.y += warp_sum[v].y;
  }
  return before;
}

// A block a group. Sums fit in 32 bits because n does.
template <typename T>
__global__ void count_tiles(const SelectSource<T> from, const SelectWork work, size_t tiles) {
  const uint32_t tau = work.state->tau, lane = threadIdx.x % 32;
  const size_t first = blockIdx.x * kSelectGroup + threadIdx.x / 32 * kTilesEach;
  uint2 mine = make_uint2(0, 0);  // of tile first + lane
#pragma unroll 2
  for (int t = 0; t < kTilesEach; ++t) {
    if (first + t >= tiles) break;
    const TileReader reader(from, work, first + t);
    uint32_t above = 0, at_tau = 0;
    for (size_t j = lane; j < reader.count; j += 32 * kAtOnce) {
      const Entries entries(from, work, reader, j);
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        const uint32_t key = kept_key(from.u(entries.weight[r], entries.old[r]));
        above += key > tau;
        at_tau += key == tau;
      }
    }
    above = __reduce_add_sync(0xffffffffu, above);
    at_tau = __reduce_add_sync(0xffffffffu, at_tau);
    if (lane == t) mine = make_uint2(above, at_tau);
  }
  uint2 total;
  const uint2 before = block_sum_before(mine, total);
  const size_t tile = blockIdx.x * kSelectGroup + threadIdx.x;
  if (tile < tiles) work.count[tile] = before;
  if (threadIdx.x == 0) work.group[blockIdx.x] = total;
}

// Of the groups before `group`; whole block.
__device__ uint2 groups_before(const SelectWork& work, size_t group) {
  uint2 mine = make_uint2(0, 0), total;
  for (size_t g = threadIdx.x; g < group; g += kBlock) {
    mine.x += work.group[g].x, mine.y += work.group[g].y;
  }
  block_sum_before(mine, total);
  return total;
}

struct Output {
  HsCudaSelectOut to;
  uint32_t tau, certain;  // keys of `certain` and more have been brought up to date
  uint64_t ties;
  __device__ uint64_t place(uint32_t above, uint32_t at_tau) const {
    return above + (at_tau < ties ? uint64_t{at_tau} : ties);
  }
};

template <typename T>
__device__ void write_entry(const SelectSource<T>& from, const Output& out, uint64_t place,
                            size_t i, float weight, float old) {
  const bool is_done = select_key(from.u(weight, old)) >= out.certain;
  if (place >= out.to.capacity) {
    if (is_done) from.undo(i, weight, old);
    return;
  }
  out.to.d_index[place] = static_cast<uint32_t>(i);
  out.to.d_value[place] = from.is_absolute ? weight : from.u(weight, old);
  if (!is_done) from.update(i, weight, old);
}

template <typename T>
__device__ void emit_tile(const SelectSource<T>& from, const SelectWork& work, const Output& out,
                          const TileReader& reader, uint2 before) {
  const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1;
  uint64_t to = out.place(before.x, before.y), at_tau = before.y;
  for (size_t first = 0; first < reader.count; first += 32 * kAtOnce) {
    const Entries entries(from, work, reader, first + lane);
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const float weight = entries.weight[r], old = entries.old[r];
      const uint32_t key = kept_key(from.u(weight, old));
      const uint32_t equal = __ballot_sync(0xffffffffu, key == out.tau);
      const bool is_kept =
          key > out.tau || (key == out.tau && at_tau + __popc(equal & below) < out.ties);
      const uint32_t kept = __ballot_sync(0xffffffffu, is_kept);
      if (is_kept) {
        const size_t i = reader.index(work, first + lane + 32 * r);
        write_entry(from, out, to + __popc(kept & below), i, weight, old);
      }
      at_tau += __popc(equal);
      to += __popc(kept);
    }
  }
}

__device__ uint64_t at_most(uint64_t a, uint64_t b) { return a < b ? a : b; }

template <typename T>
__global__ void emit_tiles(const SelectSource<T> from, const SelectWork work, size_t tiles,
                           HsCudaSelectOut to) {
  const SelectState& state = *work.state;
  const Output out{to, state.tau, reads_array(state) ? ~0u : state.hi, state.ties};
  const size_t first = blockIdx.x * kTilesOfBlock;
  const uint2 groups = groups_before(work, first / kSelectGroup);
  for (size_t tile = first + threadIdx.x / 32; tile < first + kTilesOfBlock && tile < tiles;
       tile += kWarps) {
    const uint2 in_group = work.count[tile];
    const uint2 before = make_uint2(groups.x + in_group.x, groups.y + in_group.y);
    if (tile % kTilesOfWire == 0 && threadIdx.x % 32 == 0) {
      to.d_tile_begin[tile / kTilesOfWire] = at_most(out.place(before.x, before.y), to.capacity);
    }
    emit_tile(from, work, out, TileReader(from, work, tile), before);
  }
}

__global__ void report(const SelectWork work, size_t tiles, HsCudaSelectOut to,
                       HsCudaSelected* selected) {
  const SelectState& state = *work.state;
  const Output out{to, state.tau, 0, state.ties};
  const uint2 total = groups_before(work, (tiles + kSelectGroup - 1) / kSelectGroup);
  if (threadIdx.x != 0) return;
  const uint64_t all = out.place(total.x, total.y);
  to.d_tile_begin[(tiles + kTilesOfWire - 1) / kTilesOfWire] = at_most(all, to.capacity);
  *selected = {all, state.bad, state.tau == kSelectEnd ? 0 : state.tau, reads_array(state)};
}

}  // namespace

template <typename T>
void select_emit(const SelectSource<T>& from, const SelectWork& work, const HsCudaSelectOut& out,
                 HsCudaSelected* selected, cudaStream_t on) {
  const size_t tiles = select_tiles(from.n);
  if (tiles > 0) {
    const auto blocks = static_cast<unsigned>((tiles + kTilesOfBlock - 1) / kTilesOfBlock);
    const auto groups = static_cast<unsigned>(select_groups(from.n));
    count_tiles<<<groups, kBlock, 0, on>>>(from, work, tiles);
    emit_tiles<<<blocks, kBlock, 0, on>>>(from, work, tiles, out);
  }
  report<<<1, kBlock, 0, on>>>(work, tiles, out, selected);
}

template void select_emit(const SelectSource<float>&, const SelectWork&, const HsCudaSelectOut&,
                          HsCudaSelected*, cudaStream_t);
template void select_emit(const SelectSource<Bf16>&, const SelectWork&, const HsCudaSelectOut&,
                          HsCudaSelected*, cudaStream_t);

}  // namespace hearsay::cuda
