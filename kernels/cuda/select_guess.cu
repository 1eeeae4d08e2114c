// SPDX-License-Identifier: Apache-2.0
// Where the threshold lies: a guarded guess from a sample, then the exact key of rank k by two
// levels of bins, first over the guard band of the candidates, or over the whole array when the
// guess failed. Bins are counted by integer atomics, one for all lanes of a warp that share a bin,
// since ties may be many.
#include "kernels/cuda/select_state.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kPickers = 1024;  // threads of the block that walks the bins
constexpr int kBinsEach = static_cast<int>(kSelectBins) / kPickers;

struct Found {
  uint32_t bin;
  uint64_t above;  // counts of the bins above it
  uint64_t rank;   // the rank asked for, or that of the last value: then 0 is nothing at all
};

// The bin that holds rank `rank` from above, or the last value; all threads of the block get it.
__device__ Found find_rank(const uint32_t* bins, uint64_t rank) {
  __shared__ uint64_t warp_sum[kPickers / 32];
  __shared__ Found found;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t top = kSelectBins - threadIdx.x * kBinsEach;  // one past the highest bin
  uint64_t mine = 0;
  for (int j = 4; j <= kBinsEach; j += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(bins + top - j);
    mine += uint64_t{four.x} + four.y + four.z + four.w;
  }
  uint64_t sum = mine;
  for (int d = 1; d < 32; d *= 2) {
    const uint64_t other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  __syncthreads();  // `found` and `warp_sum` of an earlier call have been read
  if (threadIdx.x == 0) found = {0, 0, 0};
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  uint64_t above = sum - mine, total = 0;
  for (int v = 0; v < kPickers / 32; ++v) {
    above += v < warp ? warp_sum[v] : 0;
    total += warp_sum[v];
  }
  if (rank > total) rank = total;
  if (above < rank && rank <= above + mine) {
    uint32_t bin = top - 1;
    while (above + bins[bin] < rank) above += bins[bin--];
    found = {bin, above, rank};
  }
  __syncthreads();
  return found;
}

__device__ void clear_bins(uint32_t* bins) {
  for (uint32_t b = threadIdx.x; b < kSelectBins; b += kPickers) bins[b] = 0;
}

// The smallest shift for which the keys of [lo, hi) fall into kSelectBins bins.
__device__ uint32_t shift_of(uint32_t lo, uint32_t hi) {
  const uint32_t bits = 32 - __clz(hi - lo - 1);
  return hi - lo <= kSelectBins ? 0 : bits - 16;
}

__device__ void set_guard(SelectState* state, uint32_t lo, uint32_t hi) {
  state->lo = lo;
  state->hi = hi;
  state->shift = shift_of(lo, hi);
}

__global__ void sample(SelectSource from, size_t strata, uint32_t* bins) {
  const size_t t = blockIdx.x * size_t{kBlock} + threadIdx.x, stratum = t / kernels::kSelectSector;
  uint32_t key = 0;
  if (stratum < strata) {
    key = select_key(
        from.u(kernels::sample_begin(from.n, strata, stratum) + t % kernels::kSelectSector));
  }
  const bool counts = key != 0 && key < kSelectEnd;
  const uint32_t bin = counts ? key >> kernels::kSelectSampleShift : 0xffffffffu;
  const uint32_t peers = __match_any_sync(0xffffffffu, bin);
  if (counts && (peers & ((1u << (threadIdx.x % 32)) - 1)) == 0) {
    atomicAdd(bins + bin, __popc(peers));
  }
}

__global__ void __launch_bounds__(kPickers)
    guard(SelectWork work, kernels::GuardRanks ranks, uint32_t prior) {
  constexpr uint32_t kSlack = 1u << 19, kWidth = 1u << kernels::kSelectSampleShift;
  uint32_t lo = 1, hi = kSelectEnd;
  if (prior != 0) {
    lo = prior > kSlack ? prior - kSlack : 1;
    hi = prior + kSlack < kSelectEnd ? prior + kSlack : kSelectEnd;
  } else if (ranks.candidate > 0) {
    const Found low = find_rank(work.bins, ranks.candidate);
    if (low.rank == ranks.candidate && low.bin > 0) {
      lo = low.bin << kernels::kSelectSampleShift;
      if (ranks.certain > 0) {
        hi = (find_rank(work.bins, ranks.certain).bin << kernels::kSelectSampleShift) + kWidth;
      }
    }
  }
  __syncthreads();
  clear_bins(work.bins);
  if (threadIdx.x == 0) set_guard(work.state, lo, hi);
}

__global__ void given(SelectState* state, uint32_t tau) {
  state->lo = state->tau = tau;
  state->hi = kSelectEnd;
  state->ties = ~uint64_t{0};
  state->is_settled = 1;
}

// Level 1: bins of (key - lo) >> shift for lo <= key < hi, and how many are above.
// Level 2: bins of key - bin_lo for the keys of the bin that was picked.
template <int kLevel, bool kFromArray>
__global__ void count_keys(SelectSource from, SelectWork work) {
  SelectState& state = *work.state;
  if (state.is_settled || (state.is_repaired != 0) != kFromArray) return;
  if (!kFromArray && state.is_overflown) return;
  const size_t n = kFromArray ? from.n : state.candidates;
  const uint32_t shift = kLevel == 1 ? state.shift : 0;
  const uint32_t lo = kLevel == 1 ? state.lo : state.bin_lo;
  const uint32_t hi = kLevel == 1 ? state.hi : state.bin_lo + (1u << state.shift);
  const uint32_t lane = threadIdx.x % 32;
  unsigned long long certain = 0;
  for (size_t at = blockIdx.x * size_t{kBlock}; at < n; at += size_t{kBlock} * gridDim.x) {
    const size_t i = at + threadIdx.x;
    uint32_t key = 0;
    if (i < n) key = select_key(kFromArray ? from.u(i) : work.value[i]);
    if (key >= kSelectEnd) key = 0;
    certain += key >= hi;
    const bool counts = key >= lo && key < hi;
    const uint32_t bin = counts ? (key - lo) >> shift : 0xffffffffu;
    const uint32_t peers = __match_any_sync(0xffffffffu, bin);
    if (counts && (peers & ((1u << lane) - 1)) == 0) atomicAdd(work.bins + bin, __popc(peers));
  }
  if (kLevel == 1) {
    for (int d = 16; d > 0; d /= 2) certain += __shfl_xor_sync(0xffffffffu, certain, d);
    if (lane == 0 && certain > 0) atomicAdd(&state.certain, certain);
  }
}

__device__ void settle(SelectState& state, uint32_t tau, uint64_t ties) {
  state.tau = tau;
  state.ties = ties;
  state.is_settled = 1;
}

// After level 1: judges the guess, or picks the bin. One block.
template <bool kFromArray>
__global__ void __launch_bounds__(kPickers) pick_bin(SelectWork work, uint64_t k) {
  SelectState& state = *work.state;
  if (state.is_settled || (state.is_repaired != 0) != kFromArray) return;
  const uint64_t found = kFromArray ? k : (state.candidates < k ? state.candidates : k);
  const uint64_t certain = state.certain;
  const bool is_wrong = !kFromArray && (state.is_overflown || (found < k && state.lo > 1) ||
                                        (found > 0 && certain >= found));
  Found bin{0, 0, 0};
  if (!is_wrong) bin = find_rank(work.bins, found > certain ? found - certain : 0);
  __syncthreads();  // all have read the state
  clear_bins(work.bins);
  if (threadIdx.x != 0) return;
  if (is_wrong) {
    state.is_repaired = 1;
    state.certain = 0;
    set_guard(&state, 1, kSelectEnd);
  } else if (bin.rank == 0) {
    settle(state, kSelectEnd, 0);
  } else {
    state.need = bin.rank - bin.above;
    state.bin_lo = state.lo + (bin.bin << state.shift);
    if (state.shift == 0) settle(state, state.bin_lo, state.need);
  }
}

// After level 2: the key itself. One block.
template <bool kFromArray>
__global__ void __launch_bounds__(kPickers) pick_key(SelectWork work) {
  SelectState& state = *work.state;
  if (state.is_settled || (state.is_repaired != 0) != kFromArray) return;
  const Found key = find_rank(work.bins, state.need);
  __syncthreads();
  clear_bins(work.bins);
  if (threadIdx.x == 0) settle(state, state.bin_lo + key.bin, state.need - key.above);
}

template <bool kFromArray>
void narrow_from(const SelectSource& from, const SelectWork& work, size_t k, int grid,
                 cudaStream_t on) {
  count_keys<1, kFromArray><<<grid, kBlock, 0, on>>>(from, work);
  pick_bin<kFromArray><<<1, kPickers, 0, on>>>(work, k);
  count_keys<2, kFromArray><<<grid, kBlock, 0, on>>>(from, work);
  pick_key<kFromArray><<<1, kPickers, 0, on>>>(work);
}

}  // namespace

void select_guess(const SelectSource& from, const SelectWork& work, size_t k, uint32_t prior,
                  cudaStream_t on) {
  size_t strata = from.n / kernels::kSelectSector;
  if (strata > kSelectStrata) strata = kSelectStrata;
  kernels::GuardRanks ranks;
  if (prior == 0 && strata > 0 && k < from.n) {
    ranks = kernels::guard_ranks(from.n, k, strata * kernels::kSelectSector);
    const size_t blocks = (strata * kernels::kSelectSector + kBlock - 1) / kBlock;
    sample<<<static_cast<unsigned>(blocks), kBlock, 0, on>>>(from, strata, work.bins);
  }
  guard<<<1, kPickers, 0, on>>>(work, ranks, prior < kSelectEnd ? prior : kSelectEnd - 1);
}

void select_given(const SelectWork& work, uint32_t tau, cudaStream_t on) {
  given<<<1, 1, 0, on>>>(work.state, tau);
}

void select_narrow(const SelectSource& from, const SelectWork& work, size_t k, int grid,
                   cudaStream_t on) {
  narrow_from<false>(from, work, k, grid, on);
  narrow_from<true>(from, work, k, grid, on);
}

}  // namespace hearsay::cuda
