// SPDX-License-Identifier: Apache-2.0
// The dense pass, at the speed of memory. Tiles come through shared memory (stages.cuh); a thread
// looks at 32 neighbouring values, a comparison and a product each, and only the one in a hundred
// that passes is touched again. Quads are read in an order turned by the thread's number, so that
// no two lanes meet in a bank. A tile takes room for its candidates by one atomic addition: tiles
// lie in any order, but each knows its slot, and the emission reads slots in the order of tiles.
#include "kernels/cuda/select_state.cuh"
#include "kernels/cuda/stages.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kWarps = kBlock / 32;
constexpr int kEach = static_cast<int>(kSelectTile) / kBlock;
static_assert(kEach == 32, "a flag for each value of a thread");

// What a tile costs beside its bytes is the way to the counter of candidates and back. Tiles of
// half the bytes need twice as many blocks to hide it.
template <typename T, bool kPublished>
constexpr int kBlocksOf = kStageBlocks*(sizeof(T) < sizeof(float) && !kPublished ? 2 : 1);
template <typename T, bool kPublished>
constexpr size_t kBytesOf = kStageBytes* kStageBlocks / kBlocksOf<T, kPublished>;
template <typename T, bool kPublished>
constexpr int kStagesOf = static_cast<int>(kBytesOf<T, kPublished> /
                                           (kSelectTile * sizeof(T) * (kPublished ? 2 : 1)));

template <typename T, bool kPublished>
struct Tiles {
  static constexpr int kStages = kStagesOf<T, kPublished>;
  static constexpr size_t kValues = kSelectTile * (kPublished ? 2 : 1);

  const SelectSource<T>& from;
  Stages<kStages>& stages;
  T* memory;

  __device__ T* at(int stage) const { return memory + stage * kValues; }
  __device__ bool is_bulk(size_t tile) const {
    return kHasBulkCopies && from.is_aligned && (tile + 1) * kSelectTile <= from.n;
  }
  // Thread 0, when nobody reads the stage any more.
  __device__ void request(int stage, size_t tile) const {
    if (tile * kSelectTile >= from.n || !is_bulk(tile)) return;
    constexpr uint32_t kBytes = kSelectTile * sizeof(T);
    stages.expect(stage, kValues * sizeof(T));
    stages.copy(stage, at(stage), from.w + tile * kSelectTile, kBytes);
    if constexpr (kPublished) {
      stages.copy(stage, at(stage) + kSelectTile, from.published + tile * kSelectTile, kBytes);
    }
  }
  // Whole block: the tile is in its stage. Beyond the end: zeros, which nobody selects.
  __device__ void await(int stage, size_t tile) const {
    if (is_bulk(tile)) return stages.wait(stage);
    T* const to = at(stage);
    for (size_t j = threadIdx.x; j < kSelectTile; j += kBlock) {
      const size_t i = tile * kSelectTile + j;
      to[j] = i < from.n ? from.w[i] : T{};
      if constexpr (kPublished) to[kSelectTile + j] = i < from.n ? from.published[i] : T{};
    }
    stages.filled_by_hand();
    __syncthreads();
  }
};

// What 16 bytes of shared memory hold.
template <typename T>
struct Unit {
  static constexpr int kValues = 16 / sizeof(T);
  float at[kValues];
  __device__ explicit Unit(const T* p) {
    const uint4 words = *reinterpret_cast<const uint4*>(p);
    const uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == sizeof(float)) {
        at[i] = __uint_as_float(word[i]);
      } else {  // bf16 is the upper half of an fp32 value
        at[2 * i] = __uint_as_float(word[i] << 16);
        at[2 * i + 1] = __uint_as_float(word[i] & 0xffff0000u);
      }
    }
  }
};

// Flags of this thread's values whose magnitude is at least `lo`. What is not finite is counted.
template <typename T, bool kPublished>
__device__ uint32_t find(const T* tile, float lo, uint32_t& bad) {
  constexpr int kOfUnit = Unit<T>::kValues, kUnits = kEach / kOfUnit;
  const T* const mine = tile + threadIdx.x * kEach;
  uint32_t flags = 0;
  float zero = 0.0f;  // NaN once a value is not finite
#pragma unroll
  for (int q = 0; q < kUnits; ++q) {
    const int turned = (q + threadIdx.x * kUnits / 8) % kUnits;
    Unit<T> u(mine + kOfUnit * turned);
    if constexpr (kPublished) {
      const Unit<T> old(mine + kSelectTile + kOfUnit * turned);
#pragma unroll
      for (int c = 0; c < kOfUnit; ++c) u.at[c] -= old.at[c];
    }
    uint32_t few = 0;
#pragma unroll
    for (int c = 0; c < kOfUnit; ++c) {
      few |= fabsf(u.at[c]) >= lo ? 1u << c : 0u;
      zero = __fmaf_rn(u.at[c], 0.0f, zero);
    }
    flags |= few << (kOfUnit * turned);
  }
  if (zero == 0.0f) return flags;
  for (int j = 0; j < kEach; ++j) {
    const float weight = kernels::widen(mine[j]);
    const float u = kPublished ? weight - kernels::widen(mine[kSelectTile + j]) : weight;
    if (select_key(u) < kSelectEnd) continue;
    ++bad;
    flags &= ~(1u << j);
  }
  return flags;
}

struct Room {  // of a tile's candidates; in shared memory
  uint32_t warp_count[kWarps];
  uint32_t first;
  bool fits;
};

// Whole block: where this thread's `mine` candidates go. False: there is no room.
__device__ bool take_room(uint32_t mine, size_t tile, const SelectWork& work, Room& room,
                          uint32_t& to) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t sum = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) room.warp_count[warp] = sum;
  __syncthreads();
  uint32_t before = sum - mine, all = 0;
#pragma unroll
  for (int v = 0; v < kWarps; ++v) {
    before += v < warp ? room.warp_count[v] : 0;
    all += room.warp_count[v];
  }
  if (threadIdx.x == 0) {
    const unsigned long long first =
        all == 0 ? 0 : atomicAdd(&work.state->candidates, static_cast<unsigned long long>(all));
    room.fits = first + all <= work.capacity;
    if (!room.fits) work.state->is_overflown = 1;
    room.first = static_cast<uint32_t>(first);
    work.slot[tile] = room.fits ? make_uint2(room.first, all) : make_uint2(0, 0);
  }
  __syncthreads();
  to = room.first + before;
  return room.fits;
}

template <typename T, bool kPublished>
__global__ void __launch_bounds__(kBlock, kBlocksOf<T, kPublished>)
    collect(const SelectSource<T> from, const SelectWork work, size_t tiles) {
  constexpr int kStages = kStagesOf<T, kPublished>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t barriers[kStages];
  __shared__ Room rooms[2];  // the one before may still be read
  Stages<kStages> stages(barriers);
  const Tiles<T, kPublished> in{from, stages, reinterpret_cast<T*>(memory)};
  const float lo = __uint_as_float(work.state->lo);
  const uint32_t hi = work.state->hi;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) in.request(s, blockIdx.x + s * size_t{gridDim.x});
  }
  uint32_t bad = 0;
  unsigned round = 0;
  for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++round) {
    const int stage = static_cast<int>(round % kStages);
    in.await(stage, tile);
    const T* const values = in.at(stage);
    uint32_t flags = find<T, kPublished>(values, lo, bad), to = 0;
    if (take_room(__popc(flags), tile, work, rooms[round % 2], to)) {
      for (; flags != 0; flags &= flags - 1, ++to) {
        const int at = threadIdx.x * kEach + __ffs(flags) - 1;
        const size_t i = tile * kSelectTile + at;
        const float weight = kernels::widen(values[at]);
        const float old = kPublished ? kernels::widen(values[kSelectTile + at]) : 0.0f;
        work.index[to] = static_cast<uint32_t>(i);
        work.value[to] = weight;
        if constexpr (kPublished) work.old[to] = old;
        if (select_key(from.u(weight, old)) >= hi) from.update(i, weight, old);
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) in.request(stage, tile + kStages * size_t{gridDim.x});
  }
  bad = __reduce_add_sync(0xffffffffu, bad);
  if (threadIdx.x % 32 == 0 && bad > 0) {
    atomicAdd(&work.state->bad, static_cast<unsigned long long>(bad));
  }
}

// After a wrong guess: what the dense pass has changed becomes what it was.
template <typename T>
__global__ void restore(const SelectSource<T> from, const SelectWork work, size_t tiles) {
  if (!reads_array(*work.state)) return;
  const uint32_t hi = work.state->hi;
  const size_t warps = size_t{gridDim.x} * kWarps;
  for (size_t tile = (blockIdx.x * size_t{kBlock} + threadIdx.x) / 32; tile < tiles;
       tile += warps) {
    const uint2 slot = work.slot[tile];
    for (uint32_t j = slot.x + threadIdx.x % 32; j < slot.x + slot.y; j += 32) {
      const float weight = work.value[j], old = from.published != nullptr ? work.old[j] : 0.0f;
      if (select_key(from.u(weight, old)) >= hi) from.undo(work.index[j], weight, old);
    }
  }
}

template <bool kPublished, typename T>
cudaError_t run(const SelectSource<T>& from, const SelectWork& work, int multiprocessors,
                cudaStream_t on) {
  const cudaError_t error = allow_stages(collect<T, kPublished>);
  if (error != cudaSuccess) return error;
  const size_t tiles = select_tiles(from.n);
  const size_t resident = static_cast<size_t>(multiprocessors) * kBlocksOf<T, kPublished>;
  const unsigned grid = static_cast<unsigned>(tiles < resident ? tiles : resident);
  collect<T, kPublished><<<grid, kBlock, kBytesOf<T, kPublished>, on>>>(from, work, tiles);
  return cudaGetLastError();
}

}  // namespace

template <typename T>
cudaError_t select_collect(const SelectSource<T>& from, const SelectWork& work, int multiprocessors,
                           cudaStream_t on) {
  if (from.published != nullptr) return run<true>(from, work, multiprocessors, on);
  return run<false>(from, work, multiprocessors, on);
}

template <typename T>
void select_restore(const SelectSource<T>& from, const SelectWork& work, int grid,
                    cudaStream_t on) {
  if (from.published == nullptr && !from.clears) return;
  restore<<<grid, kBlock, 0, on>>>(from, work, select_tiles(from.n));
}

template cudaError_t select_collect(const SelectSource<float>&, const SelectWork&, int,
                                    cudaStream_t);
template cudaError_t select_collect(const SelectSource<Bf16>&, const SelectWork&, int,
                                    cudaStream_t);
template void select_restore(const SelectSource<float>&, const SelectWork&, int, cudaStream_t);
template void select_restore(const SelectSource<Bf16>&, const SelectWork&, int, cudaStream_t);

}  // namespace hearsay::cuda
