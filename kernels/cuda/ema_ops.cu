// SPDX-License-Identifier: Apache-2.0
// The CUDA twin of ema. Whole tiles of fp32 weights come through shared memory (stages.cuh), so
// that 192 KiB a multiprocessor are under way: 95 % of a copy's rate on an H200, 84 to 90 % with
// registers alone. Elsewhere a thread loads four quads of w and v (up to 128 bytes in flight),
// merges them, and stores. Random bits: one block of Philox for eight values, shared by two
// threads.
#include "kernels/cuda/ema_api.h"
#include "kernels/cuda/quads.cuh"
#include "kernels/cuda/stages.cuh"
#include "kernels/cuda/tile_tree.cuh"

namespace {

using namespace hearsay::cuda;
using namespace hearsay::kernels;

constexpr int kBlocksEach = 4;  // a multiprocessor: 1024 threads of at most 64 registers

struct EmaLaunch {
  HsEmaSpan one;  // when spans is null
  const HsEmaSpan* spans;
  size_t count;
  unsigned long long seed, merge_id;
  Tree tree;
  HsEmaResult* result;
};

struct ThreadFacts {
  unsigned max_bits = 0, bad = 0, changed = 0;
};

__device__ HsEmaSpan span_of(const EmaLaunch& launch, size_t tile) {
  if (launch.spans == nullptr) return launch.one;
  size_t low = 0, high = launch.count;  // the last whose first tile is not beyond
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    if (launch.spans[middle].first_tile <= tile) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return launch.spans[low];
}

// Four values in registers. `master` holds fp32 weights and is stored beside w where kStore says
// so.
template <typename W, typename V, int kStore>
__device__ void merge_quad(float alpha, Quad<W>& w, const Quad<V>& v, Quad<float>& master,
                           const uint2& random, int valid, double (&sums)[4], ThreadFacts& facts) {
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (c >= valid) continue;
    const float before = kStore == HS_STORE_MASTER ? master.at[c] : widen(w.at[c]);
    const EmaStep step = ema_step(alpha, before, widen(v.at[c]), kMaxBitsOf<W>);
    facts.max_bits = max(facts.max_bits, float_bits(step.u) & kMagnitude);
    facts.bad += step.bad;
    const double u = static_cast<double>(step.u);
    sums[c] = __fma_rn(u, u, sums[c]);  // u * u is exact in fp64
    const bool stays = float_bits(step.w) == float_bits(before);
    if constexpr (sizeof(W) == 4) {
      facts.changed += !stays;
      w.at[c] = step.w;
    } else {
      const W rounded = kStore == HS_STORE_RANDOM ? at_random(step.w, quad_bits(random, c), W{})
                                                  : nearest(step.w, W{});
      const W now = stays ? w.at[c] : rounded;
      facts.changed += now.bits != w.at[c].bits;
      w.at[c] = now;
      if constexpr (kStore == HS_STORE_MASTER) master.at[c] = step.w;
    }
  }
}

// A tile, or what there is of it. kWhole: all 4096 values at aligned addresses.
template <typename W, typename V, int kStore, bool kWhole>
__device__ void merge_tile(const EmaLaunch& launch, const HsEmaSpan& span, size_t begin,
                           double (&sums)[4], ThreadFacts& facts) {
  constexpr bool kHasMaster = kStore == HS_STORE_MASTER;
  constexpr int kAtOnce = kHasMaster || !kWhole ? 2 : 4;  // quads: 64 registers hold no more
  W* const w = static_cast<W*>(span.d_w);
  const V* const v = static_cast<const V*>(span.d_v);
#pragma unroll
  for (int first = 0; first < 4; first += kAtOnce) {
    const size_t at = begin + 4 * threadIdx.x + kRowValues * first;
    Quad<W> ws[kAtOnce];
    Quad<V> vs[kAtOnce];
    Quad<float> masters[kHasMaster ? kAtOnce : 1];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      ws[k] = load<kWhole>(w, at + kRowValues * k, span.n);
      vs[k] = load<kWhole>(v, at + kRowValues * k, span.n);
      if constexpr (kHasMaster)
        masters[k] = load<kWhole>(span.d_master, at + kRowValues * k, span.n);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k += 2) {
      uint2 random[2]{};
      if constexpr (sizeof(W) == 2 && kStore == HS_STORE_RANDOM) {
        rounding_words(span.first + at + kRowValues * k, launch.seed, launch.merge_id, random);
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const size_t here = at + kRowValues * (k + j);
        const int valid = kWhole          ? 4
                          : here < span.n ? static_cast<int>(min(span.n - here, size_t{4}))
                                          : 0;
        Quad<float>& master = masters[kHasMaster ? k + j : 0];
        merge_quad<W, V, kStore>(span.alpha, ws[k + j], vs[k + j], master, random[j], valid, sums,
                                 facts);
        store<kWhole>(w, here, span.n, ws[k + j]);
        if constexpr (kHasMaster) store<kWhole>(span.d_master, here, span.n, master);
      }
    }
  }
}

// A tile that is in shared memory.
template <typename V>
__device__ void merge_staged(float alpha, const float* from_w, const V* from_v, float* w,
                             double (&sums)[4], ThreadFacts& facts) {
  Quad<float> no_master{};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const size_t at = 4 * threadIdx.x + kRowValues * k;
    Quad<float> mine = *reinterpret_cast<const Quad<float>*>(from_w + at);
    const Quad<V> theirs = *reinterpret_cast<const Quad<V>*>(from_v + at);
    merge_quad<float, V, HS_STORE_NEAREST>(alpha, mine, theirs, no_master, {}, 4, sums, facts);
    store_quad(w + at, mine);
  }
}

// The last block of the grid writes the result.
__device__ void finish(const EmaLaunch& launch, const ThreadFacts& facts) {
  const BlockCounts counts = block_counts(facts.max_bits, facts.bad, facts.changed);
  TreeHeader* const header = launch.tree.header;
  if (threadIdx.x == 0) {
    atomicMax(&header->max_bits, counts.max_bits);
    if (counts.bad != 0) atomicAdd(&header->bad, counts.bad);
    if (counts.changed != 0) atomicAdd(&header->changed, counts.changed);
  }
  if (!is_last_block(&header->ticket)) return;
  if (threadIdx.x == 0) {
    launch.result->max_update = bits_float(atomicExch(&header->max_bits, 0u));
    launch.result->unused = 0;
    launch.result->bad = atomicExch(&header->bad, 0ull);
    launch.result->changed = atomicExch(&header->changed, 0ull);
  }
  finish_small<1>(launch.tree, &launch.result->update_sq);
}

template <typename W, typename V, int kStore>
__device__ bool is_whole(const HsEmaSpan& span, size_t begin) {
  return span.n - begin >= kTileValues && is_quad_aligned(static_cast<const W*>(span.d_w)) &&
         is_quad_aligned(static_cast<const V*>(span.d_v)) &&
         (kStore != HS_STORE_MASTER || is_quad_aligned(span.d_master));
}

template <typename W, typename V, int kStore>
__global__ __launch_bounds__(kBlock, kBlocksEach) void ema_kernel(const EmaLaunch launch) {
  ThreadFacts facts;
  for (size_t tile = blockIdx.x; tile < launch.tree.tiles; tile += gridDim.x) {
    const HsEmaSpan span = span_of(launch, tile);
    const size_t begin = (tile - span.first_tile) * kTileValues;
    double sums[4] = {};
    if (is_whole<W, V, kStore>(span, begin)) {
      merge_tile<W, V, kStore, true>(launch, span, begin, sums, facts);
    } else {
      merge_tile<W, V, kStore, false>(launch, span, begin, sums, facts);
    }
    store_sum(sums, launch.tree.parts, tile);
  }
  finish(launch, facts);
}

template <typename V>
__device__ bool is_staged(const HsEmaSpan& span, size_t begin) {
  return kHasBulkCopies && span.n - begin >= kTileValues &&
         reinterpret_cast<uintptr_t>(span.d_w) % 16 == 0 &&
         reinterpret_cast<uintptr_t>(span.d_v) % 16 == 0;
}

// The same for fp32 weights with bulk copies; every stage holds a tile of w and one of v.
template <typename V>
__global__ __launch_bounds__(kBlock, kStageBlocks) void ema_staged(const EmaLaunch launch) {
  constexpr uint32_t kBytesOfW = kTileValues * sizeof(float), kBytesOfV = kTileValues * sizeof(V);
  constexpr int kStages = kStageBytes / (kBytesOfW + kBytesOfV);
  extern __shared__ __align__(128) char memory[];
  __shared__ uint64_t barriers[kStages];
  Stages<kStages> stages(barriers);
  const auto w_at = [&](int stage) { return memory + stage * (kBytesOfW + kBytesOfV); };
  const auto request = [&](int stage, size_t tile) {
    if (tile >= launch.tree.tiles) return;
    const HsEmaSpan span = span_of(launch, tile);
    const size_t begin = (tile - span.first_tile) * kTileValues;
    if (!is_staged<V>(span, begin)) return;
    stages.expect(stage, kBytesOfW + kBytesOfV);
    stages.copy(stage, w_at(stage), static_cast<const float*>(span.d_w) + begin, kBytesOfW);
    stages.copy(stage, w_at(stage) + kBytesOfW, static_cast<const V*>(span.d_v) + begin, kBytesOfV);
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) request(s, blockIdx.x + s * size_t{gridDim.x});
  }
  ThreadFacts facts;
  unsigned round = 0;
  for (size_t tile = blockIdx.x; tile < launch.tree.tiles; tile += gridDim.x, ++round) {
    const int stage = static_cast<int>(round % kStages);
    const HsEmaSpan span = span_of(launch, tile);
    const size_t begin = (tile - span.first_tile) * kTileValues;
    double sums[4] = {};
    if (is_staged<V>(span, begin)) {
      stages.wait(stage);
      merge_staged(span.alpha, reinterpret_cast<const float*>(w_at(stage)),
                   reinterpret_cast<const V*>(w_at(stage) + kBytesOfW),
                   static_cast<float*>(span.d_w) + begin, sums, facts);
    } else {
      merge_tile<float, V, HS_STORE_NEAREST, false>(launch, span, begin, sums, facts);
    }
    store_sum(sums, launch.tree.parts, tile);
    __syncthreads();  // everyone has left the stage
    if (threadIdx.x == 0) request(stage, tile + kStages * size_t{gridDim.x});
  }
  finish(launch, facts);
}

template <typename W, typename V, int kStore>
cudaError_t run(const EmaLaunch& launch, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  const int count = multiprocessors(error);
  if (error != cudaSuccess) return error;
  constexpr bool kCanStage = sizeof(W) == 4 && kStore == HS_STORE_NEAREST;
  if (kCanStage && has_bulk_copies(error)) {
    const auto kernel = ema_staged<V>;
    error = allow_stages(kernel);
    if (error != cudaSuccess) return error;
    const unsigned grid = tile_grid(launch.tree.tiles, count * kStageBlocks);
    kernel<<<grid, kBlock, kStageBytes, stream>>>(launch);
  } else {
    const unsigned grid = tile_grid(launch.tree.tiles, count * kBlocksEach);
    ema_kernel<W, V, kStore><<<grid, kBlock, 0, stream>>>(launch);
  }
  if (error != cudaSuccess) return error;
  return finish_large<1>(launch.tree, &launch.result->update_sq, stream);
}

template <typename W, typename V>
cudaError_t with_store(const HsEmaRule& rule, const EmaLaunch& launch, cudaStream_t stream) {
  if constexpr (sizeof(W) == 4) {
    if (rule.store == HS_STORE_MASTER) return cudaErrorInvalidValue;
    return run<W, V, HS_STORE_NEAREST>(launch, stream);
  } else {
    if (rule.store == HS_STORE_RANDOM) return run<W, V, HS_STORE_RANDOM>(launch, stream);
    if (rule.store == HS_STORE_NEAREST) return run<W, V, HS_STORE_NEAREST>(launch, stream);
    if (rule.store == HS_STORE_MASTER) return run<W, V, HS_STORE_MASTER>(launch, stream);
    return cudaErrorInvalidValue;
  }
}

template <typename W>
cudaError_t with_v(const HsEmaRule& rule, const EmaLaunch& launch, cudaStream_t stream) {
  if (rule.v_type == HS_FP32) return with_store<W, float>(rule, launch, stream);
  if (rule.v_type == HS_BF16) return with_store<W, Bf16>(rule, launch, stream);
  if (rule.v_type == HS_FP16) return with_store<W, Fp16>(rule, launch, stream);
  return cudaErrorInvalidValue;
}

cudaError_t with_types(const HsEmaRule& rule, const EmaLaunch& launch, void* stream) {
  if (rule.w_type == HS_FP32) return with_v<float>(rule, launch, as_stream(stream));
  if (rule.w_type == HS_BF16) return with_v<Bf16>(rule, launch, as_stream(stream));
  if (rule.w_type == HS_FP16) return with_v<Fp16>(rule, launch, as_stream(stream));
  return cudaErrorInvalidValue;
}

}  // namespace

extern "C" size_t hs_cuda_ema_tiles(HsEmaSpan* spans, size_t count) {
  size_t tiles = 0;
  for (size_t s = 0; s < count; ++s) {
    spans[s].first_tile = tiles;
    tiles += tiles_of(spans[s].n);
  }
  return tiles;
}

extern "C" size_t hs_cuda_ema_workspace_bytes(size_t tiles) { return tree_bytes(tiles, 1); }

extern "C" int hs_cuda_ema(const HsEmaRule* rule, const HsEmaSpan* span, void* d_workspace,
                           HsEmaResult* d_result, void* stream) {
  if (span->first % 8 != 0) return cudaErrorInvalidValue;
  if (rule->store == HS_STORE_MASTER && span->n > 0 && span->d_master == nullptr) {
    return cudaErrorInvalidValue;
  }
  EmaLaunch launch{*span,      nullptr,        1,
                   rule->seed, rule->merge_id, tree_in(d_workspace, tiles_of(span->n), 1),
                   d_result};
  launch.one.first_tile = 0;
  return with_types(*rule, launch, stream);
}

extern "C" int hs_cuda_ema_spans(const HsEmaRule* rule, const HsEmaSpan* d_spans, size_t count,
                                 size_t tiles, void* d_workspace, HsEmaResult* d_result,
                                 void* stream) {
  if (count == 0 && tiles > 0) return cudaErrorInvalidValue;
  const EmaLaunch launch{
      {}, d_spans, count, rule->seed, rule->merge_id, tree_in(d_workspace, tiles, 1), d_result};
  return with_types(*rule, launch, stream);
}
