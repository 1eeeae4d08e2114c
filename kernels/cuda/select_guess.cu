// SPDX-License-Identifier: Apache-2.0
// Where the threshold lies: a guarded guess from a sample, then the exact key of rank k by two
// levels of bins (one where the band is narrow), first over the guard band of the candidates, or
// over the whole array when the guess failed. Bins are counted by integer atomics, one for all
// lanes of a warp that share a bin, since ties may be many. Kernels that have nothing to do return
// at once: what there is to do is known on the device only.
#include "kernels/cuda/select_state.cuh"
#include "kernels/cuda/tile_tree.cuh"

namespace hearsay::cuda {
namespace {

constexpr int kPickers = 256;  // threads that add up a slice of bins, then walk the slices
static_assert(kPickers == kSelectSlices && kSelectSlice == 4 * kPickers);

constexpr uint32_t kKeys = 512;  // that a block counts by itself: four octaves of bf16

__device__ uint32_t* bins_of(const SelectWork& work, int set) {
  return work.bins + size_t{kSelectBins} * set;
}

struct Found {
  uint32_t bin;
  uint64_t above;  // counts of the bins above it
  uint64_t rank;   // the rank asked for, or that of the last value: then 0 is nothing at all
};

// Sum of `mine` over the threads before this one; `total` is that of all.
__device__ uint64_t sum_before(uint64_t mine, uint64_t& total) {
  __shared__ uint64_t warp_sum[kPickers / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint64_t sum = mine;
  for (int d = 1; d < 32; d *= 2) {
    const uint64_t other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  __syncthreads();  // `warp_sum` of an earlier call has been read
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  uint64_t before = sum - mine;
  total = 0;
  for (int v = 0; v < kPickers / 32; ++v) {
    before += v < warp ? warp_sum[v] : 0;
    total += warp_sum[v];
  }
  return before;
}

// The bin that holds rank `rank` from above, or the last value; all threads of the block get it.
__device__ Found find_rank(const uint32_t* bins, const uint32_t* slice_sum, uint64_t rank) {
  __shared__ Found slice, found;
  __syncthreads();  // those of an earlier call have been read
  if (threadIdx.x == 0) slice = found = {0, 0, 0};
  uint64_t total = 0;
  const uint32_t my_slice = kSelectSlices - 1 - threadIdx.x;  // threads walk from above
  const uint64_t in_slice = __ldcg(slice_sum + my_slice);
  const uint64_t above = sum_before(in_slice, total);
  if (rank > total) rank = total;
  if (above < rank && rank <= above + in_slice) slice = {my_slice, above, rank};
  __syncthreads();
  if (rank == 0) return found;
  const uint32_t top = (slice.bin + 1) * kSelectSlice - 4 * threadIdx.x;  // one past my highest
  const uint4 four = __ldcg(reinterpret_cast<const uint4*>(bins + top - 4));
  const uint32_t mine[4] = {four.w, four.z, four.y, four.x};
  uint64_t higher = slice.above + sum_before(uint64_t{four.x} + four.y + four.z + four.w, total);
  for (uint32_t b = 0; b < 4; ++b) {
    if (higher < rank && rank <= higher + mine[b]) found = {top - 1 - b, higher, rank};
    higher += mine[b];
  }
  __syncthreads();
  return found;
}

// Each block adds up its slice; true in the one that comes last, which goes on alone.
__device__ bool add_slices(const SelectWork& work, int set) {
  const uint4 four =
      reinterpret_cast<const uint4*>(bins_of(work, set) + blockIdx.x * kSelectSlice)[threadIdx.x];
  uint64_t total = 0;  // of at most 2^32 - 1 values
  sum_before(uint64_t{four.x} + four.y + four.z + four.w, total);
  if (threadIdx.x == 0) __stcg(work.slice_sum + blockIdx.x, static_cast<uint32_t>(total));
  return is_last_block(&work.state->ticket[set]);
}

// The smallest shift for which the keys of [lo, hi) fall into kSelectBins bins.
__device__ uint32_t shift_of(uint32_t lo, uint32_t hi) {
  constexpr uint32_t kLogBins = 18;
  static_assert(kSelectBins == 1u << kLogBins);
  const uint32_t bits = 32 - __clz(hi - lo - 1);
  return hi - lo <= kSelectBins ? 0 : bits - kLogBins;
}

__device__ void set_guard(SelectState* state, uint32_t lo, uint32_t hi) {
  state->lo = lo;
  state->hi = hi;
  state->shift = shift_of(lo, hi);
}

template <typename T>
__global__ void sample(const SelectSource<T> from, size_t strata, uint32_t* bins) {
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
    guard(const SelectWork work, kernels::GuardRanks ranks, uint32_t prior) {
  constexpr uint32_t kSlack = 1u << 19, kWidth = 1u << kernels::kSelectSampleShift;
  if (!add_slices(work, kOfSample)) return;
  uint32_t lo = 1, hi = kSelectEnd;
  if (prior != 0) {
    lo = prior > kSlack ? prior - kSlack : 1;
    hi = prior + kSlack < kSelectEnd ? prior + kSlack : kSelectEnd;
  } else if (ranks.candidate > 0) {
    const uint32_t* const bins = bins_of(work, kOfSample);
    const Found low = find_rank(bins, work.slice_sum, ranks.candidate);
    if (low.rank == ranks.candidate && low.bin > 0) {
      lo = low.bin << kernels::kSelectSampleShift;
      if (ranks.certain > 0) {
        hi = (find_rank(bins, work.slice_sum, ranks.certain).bin << kernels::kSelectSampleShift) +
             kWidth;
      }
    }
  }
  if (threadIdx.x == 0) set_guard(work.state, lo, hi);
}

__global__ void given(SelectState* state, uint32_t tau) {
  state->lo = state->hi = state->tau = tau;  // all candidates are selected
  state->ties = ~uint64_t{0};
  state->is_settled = 1;
}

// Level 1: bins of (key - lo) >> shift for lo <= key < hi, and how many are above.
// Level 2: bins of key - bin_lo for the keys of the bin that was picked.
template <int kLevel, bool kFromArray>
constexpr int kSetOf = kFromArray ? (kLevel == 1 ? kOfArray : kOfArrayKeys)
                                  : (kLevel == 1 ? kOfGuard : kOfKeys);

template <typename T>
__device__ float candidate(const SelectSource<T>& from, const SelectWork& work, size_t i) {
  return from.u(work.value[i], from.published != nullptr ? work.old[i] : 0.0f);
}

// Keys of a bf16 array are few, so that all blocks would add to the same bins: each block counts
// those next to `lo` by itself first. Differences have more keys.
template <typename T>
class OwnKeys {
 public:
  // Whole block.
  __device__ OwnKeys(uint32_t (&counts)[kKeys], const SelectSource<T>& from, uint32_t lo)
      : counts_(counts),
        first_(lo >> 16),
        is_used_(sizeof(T) < sizeof(float) && from.published == nullptr) {
    if (!is_used_) return;
    for (uint32_t i = threadIdx.x; i < kKeys; i += kBlock) counts_[i] = 0;
    __syncthreads();
  }
  // False: it is to be counted elsewhere.
  __device__ bool add(uint32_t key, uint32_t count) {
    const uint32_t place = (key >> 16) - first_;
    if (!is_used_ || place >= kKeys) return false;
    atomicAdd(&counts_[place], count);
    return true;
  }
  // Whole block.
  __device__ void drain(uint32_t* bins, uint32_t lo, uint32_t shift) {
    if (!is_used_) return;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < kKeys; i += kBlock) {
      if (counts_[i] > 0) atomicAdd(bins + ((((first_ + i) << 16) - lo) >> shift), counts_[i]);
    }
  }

 private:
  uint32_t (&counts_)[kKeys];
  uint32_t first_;
  bool is_used_;
};

template <int kLevel, bool kFromArray, typename T>
__global__ void count_keys(const SelectSource<T> from, const SelectWork work) {
  SelectState& state = *work.state;
  if (state.is_settled || (state.is_repaired != 0) != kFromArray) return;
  if (!kFromArray && state.is_overflown) return;
  const size_t n = kFromArray ? from.n : state.candidates;
  const uint32_t shift = kLevel == 1 ? state.shift : 0;
  const uint32_t lo = kLevel == 1 ? state.lo : state.bin_lo;
  const uint32_t top = kFromArray ? kSelectEnd : state.hi;
  const uint32_t hi = kLevel == 1 ? top : state.bin_lo + (1u << state.shift);
  uint32_t* const bins = bins_of(work, kSetOf<kLevel, kFromArray>);
  const uint32_t lane = threadIdx.x % 32;
  __shared__ uint32_t own_counts[kKeys];
  OwnKeys<T> own(own_counts, from, lo);
  unsigned long long certain = 0;
  for (size_t at = blockIdx.x * size_t{kBlock}; at < n; at += size_t{kBlock} * gridDim.x) {
    const size_t i = at + threadIdx.x;
    uint32_t key = 0;
    if (i < n) key = select_key(kFromArray ? from.u(i) : candidate(from, work, i));
    if (key >= kSelectEnd) key = 0;
    certain += key >= hi;
    const bool counts = key >= lo && key < hi;
    const uint32_t bin = counts ? (key - lo) >> shift : 0xffffffffu;
    const uint32_t peers = __match_any_sync(0xffffffffu, bin);
    const uint32_t count = __popc(peers);
    if (counts && (peers & ((1u << lane) - 1)) == 0 && !own.add(key, count))
      atomicAdd(bins + bin, count);
  }
  own.drain(bins, lo, shift);
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

// After level 1: judges the guess, or picks the bin.
template <bool kFromArray>
__global__ void __launch_bounds__(kPickers) pick_bin(const SelectWork work, uint64_t k) {
  SelectState& state = *work.state;
  if (state.is_settled || (state.is_repaired != 0) != kFromArray) return;
  constexpr int kSet = kSetOf<1, kFromArray>;
  if (!add_slices(work, kSet)) return;
  const uint64_t found = kFromArray ? k : (state.candidates < k ? state.candidates : k);
  const uint64_t certain = state.certain;
  const bool is_wrong = !kFromArray && (state.is_overflown || (found < k && state.lo > 1) ||
                                        (found > 0 && certain >= found));
  Found bin{0, 0, 0};
  if (!is_wrong) {
    bin = find_rank(bins_of(work, kSet), work.slice_sum, found > certain ? found - certain : 0);
  }
  __syncthreads();  // all have read the state
  if (threadIdx.x != 0) return;
  if (is_wrong) {
    state.is_repaired = 1;
    state.certain = 0;
    state.lo = 1;
    state.shift = shift_of(1, kSelectEnd);
  } else if (bin.rank == 0) {
    settle(state, kSelectEnd, 0);
  } else {
    state.need = bin.rank - bin.above;
    state.bin_lo = state.lo + (bin.bin << state.shift);
    if (state.shift == 0) settle(state, state.bin_lo, state.need);
  }
}

// After level 2: the key itself.
template <bool kFromArray>
__global__ void __launch_bounds__(kPickers) pick_key(const SelectWork work) {
  SelectState& state = *work.state;
  if (state.is_settled || (state.is_repaired != 0) != kFromArray) return;
  constexpr int kSet = kSetOf<2, kFromArray>;
  if (!add_slices(work, kSet)) return;
  const Found key = find_rank(bins_of(work, kSet), work.slice_sum, state.need);
  __syncthreads();
  if (threadIdx.x == 0) settle(state, state.bin_lo + key.bin, state.need - key.above);
}

template <bool kFromArray, typename T>
void narrow_from(const SelectSource<T>& from, const SelectWork& work, size_t k, int grid,
                 cudaStream_t on) {
  count_keys<1, kFromArray><<<grid, kBlock, 0, on>>>(from, work);
  pick_bin<kFromArray><<<kSelectSlices, kPickers, 0, on>>>(work, k);
  count_keys<2, kFromArray><<<grid, kBlock, 0, on>>>(from, work);
  pick_key<kFromArray><<<kSelectSlices, kPickers, 0, on>>>(work);
}

}  // namespace

template <typename T>
void select_guess(const SelectSource<T>& from, const SelectWork& work, size_t k, uint32_t prior,
                  cudaStream_t on) {
  size_t strata = from.n / kernels::kSelectSector;
  if (strata > kSelectStrata) strata = kSelectStrata;
  kernels::GuardRanks ranks;
  if (prior == 0 && strata > 0 && k < from.n) {
    ranks = kernels::guard_ranks(from.n, k, strata * kernels::kSelectSector);
    const size_t blocks = (strata * kernels::kSelectSector + kBlock - 1) / kBlock;
    sample<<<static_cast<unsigned>(blocks), kBlock, 0, on>>>(from, strata,
                                                             work.bins + kSelectBins * kOfSample);
  }
  guard<<<kSelectSlices, kPickers, 0, on>>>(work, ranks,
                                            prior < kSelectEnd ? prior : kSelectEnd - 1);
}

void select_given(const SelectWork& work, uint32_t tau, cudaStream_t on) {
  given<<<1, 1, 0, on>>>(work.state, tau);
}

template <typename T>
void select_narrow(const SelectSource<T>& from, const SelectWork& work, size_t k, int grid,
                   cudaStream_t on) {
  narrow_from<false>(from, work, k, grid, on);
  select_restore(from, work, grid, on);
  narrow_from<true>(from, work, k, grid, on);
}

template void select_guess(const SelectSource<float>&, const SelectWork&, size_t, uint32_t,
                           cudaStream_t);
template void select_guess(const SelectSource<Bf16>&, const SelectWork&, size_t, uint32_t,
                           cudaStream_t);
template void select_narrow(const SelectSource<float>&, const SelectWork&, size_t, int,
                            cudaStream_t);
template void select_narrow(const SelectSource<Bf16>&, const SelectWork&, size_t, int,
                            cudaStream_t);

}  // namespace hearsay::cuda
