// SPDX-License-Identifier: Apache-2.0
// The dense pass. A warp holds 1024 values in registers, eight rounds of 128, so that the order of
// candidates is warp, round, lane, component. A tile takes its room by one atomic addition: tiles
// lie in any order, but each knows its slot, and the emission reads slots in the order of tiles.
#include "kernels/cuda/select_state.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kWarps = kBlock / 32;
constexpr int kRounds = 8;
// Blocks a multiprocessor that stay resident: registers hold a tile of one array, or of two.
constexpr int kOne = 3, kTwo = 2;
static_assert(kSelectTile == kBlock * kRounds * 4);

__device__ void load4(const float* from, size_t i, size_t n, bool is_aligned, float* v) {
  if (is_aligned && i + 4 <= n) {
    const float4 four = __ldcs(reinterpret_cast<const float4*>(from + i));
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
  } else {
#pragma unroll
    for (int c = 0; c < 4; ++c) v[c] = i + c < n ? __ldcs(from + i + c) : 0.0f;
  }
}

template <bool kPublished>
__device__ void load_values(const SelectSource& from, size_t begin, float (&u)[4 * kRounds]) {
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    load4(from.w, begin + r * 128, from.n, from.is_aligned, u + 4 * r);
  }
  if constexpr (kPublished) {
    float published[4 * kRounds];
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      load4(from.published, begin + r * 128, from.n, from.is_aligned, published + 4 * r);
    }
#pragma unroll
    for (int j = 0; j < 4 * kRounds; ++j) u[j] -= published[j];
  }
}

// Writes the flagged values of a warp from `to` on, in order.
__device__ void write_candidates(const float (&u)[4 * kRounds], uint32_t flags,
                                 uint32_t first_index, uint32_t to, const SelectWork& work) {
  const uint32_t below = (1u << (threadIdx.x % 32)) - 1;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    uint32_t before = 0, all = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const uint32_t lanes = __ballot_sync(0xffffffffu, flags >> (4 * r + c) & 1u);
      before += __popc(lanes & below);
      all += __popc(lanes);
    }
    if (all == 0) continue;
    uint32_t at = to + before;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (flags >> (4 * r + c) & 1u) {
        work.index[at] = first_index + r * 128 + c;
        work.value[at] = u[4 * r + c];
        ++at;
      }
    }
    to += all;
  }
}

template <bool kPublished>
__global__ void __launch_bounds__(kBlock, kPublished ? kTwo : kOne)
    collect(SelectSource from, SelectWork work, size_t tiles) {
  __shared__ uint32_t warp_count[kWarps];
  __shared__ uint32_t block_base;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t lo = work.state->lo;
  uint32_t bad = 0;
  for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const size_t begin = tile * kSelectTile + warp * (kSelectTile / kWarps) + lane * 4;
    float u[4 * kRounds];
    load_values<kPublished>(from, begin, u);
    uint32_t flags = 0;
#pragma unroll
    for (int j = 0; j < 4 * kRounds; ++j) {
      const uint32_t key = select_key(u[j]);
      const bool is_bad = key >= kSelectEnd;
      bad += is_bad;
      flags |= static_cast<uint32_t>(key >= lo && !is_bad) << j;
    }
    const uint32_t mine = __reduce_add_sync(0xffffffffu, __popc(flags));
    if (lane == 0) warp_count[warp] = mine;
    __syncthreads();
    uint32_t before = 0, all = 0;
#pragma unroll
    for (int v = 0; v < kWarps; ++v) {
      before += v < warp ? warp_count[v] : 0;
      all += warp_count[v];
    }
    if (threadIdx.x == 0) {
      const unsigned long long base =
          all == 0 ? 0 : atomicAdd(&work.state->candidates, static_cast<unsigned long long>(all));
      const bool fits = base + all <= work.capacity;
      if (!fits) work.state->is_overflown = 1;
      block_base = fits ? static_cast<uint32_t>(base) : 0xffffffffu;
      work.slot[tile] = fits ? make_uint2(static_cast<uint32_t>(base), all) : make_uint2(0, 0);
    }
    __syncthreads();
    if (mine > 0 && block_base != 0xffffffffu) {
      write_candidates(u, flags, static_cast<uint32_t>(begin), block_base + before, work);
    }
  }
  bad = __reduce_add_sync(0xffffffffu, bad);
  if (lane == 0 && bad > 0) atomicAdd(&work.state->bad, static_cast<unsigned long long>(bad));
}

}  // namespace

void select_collect(const SelectSource& from, const SelectWork& work, int multiprocessors,
                    cudaStream_t on) {
  const bool is_published = from.published != nullptr;
  const size_t tiles = select_tiles(from.n);
  const size_t resident = static_cast<size_t>(multiprocessors) * (is_published ? kTwo : kOne);
  const unsigned grid = static_cast<unsigned>(tiles < resident ? tiles : resident);
  if (is_published) {
    collect<true><<<grid, kBlock, 0, on>>>(from, work, tiles);
  } else {
    collect<false><<<grid, kBlock, 0, on>>>(from, work, tiles);
  }
}

}  // namespace hearsay::cuda
