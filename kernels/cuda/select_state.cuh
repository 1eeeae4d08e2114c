// SPDX-License-Identifier: Apache-2.0
// What the kernels of one selection hand to each other on the device, and where it lies in the
// workspace. A selection guesses a guarded threshold (select_guess.cu), collects candidates in one
// dense pass (select_collect.cu), which also publishes those that are selected for certain while
// their memory rows are open, narrows the threshold down (select_guess.cu) and writes what is left
// in order (select_emit.cu). When the guess was wrong, what was published too early is taken back
// and the same kernels read the array instead of the candidates.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select_api.h"
#include "kernels/ops/select_math.hpp"

namespace hearsay::cuda {

inline constexpr size_t kSelectTile = 8192;  // values that one block collects, one warp emits
inline constexpr size_t kSelectGroup = 256;  // tiles whose counts one block adds up
inline constexpr uint32_t kSelectSlices = 256, kSelectSlice = 1024;  // bins of a slice
inline constexpr uint32_t kSelectBins = kSelectSlices * kSelectSlice;
inline constexpr size_t kSelectStrata = 32'768;  // sectors of a sample: 262,144 values
inline constexpr uint32_t kSelectEnd = kernels::kSelectNotFinite;

// Sets of bins, each counted into once, all zero at the start.
enum SelectBins { kOfSample, kOfGuard, kOfKeys, kOfArray, kOfArrayKeys, kSelectBinSets };

struct SelectState {
  unsigned long long bad, candidates, certain;
  uint32_t lo, hi, shift;  // candidates are keys >= lo; hi and more are certain, and published by
                           // the dense pass; bins are (key - lo) >> shift
  uint32_t is_overflown;   // more candidates than there is room
  uint32_t is_repaired;    // lo, shift and bins are of the whole array, where no key is certain
  uint32_t is_settled;     // tau and ties are known
  uint32_t bin_lo;         // lower edge of the bin that holds the threshold
  uint64_t need;           // entries that lie in that bin
  uint32_t tau;            // entries: keys > tau and the first `ties` keys == tau
  uint32_t ticket[kSelectBinSets];
  uint64_t ties;
};

struct SelectWork {
  SelectState* state;
  uint32_t* bins;       // kSelectBinSets * kSelectBins
  uint32_t* slice_sum;  // kSelectSlices
  uint2* slot;          // of each tile: its first candidate and their number
  uint2* count;         // of each tile: keys > tau and == tau in the tiles of its group before it
  uint2* group;         // of each group: the same of all its tiles
  uint32_t* index;      // of each candidate, with its weight and what was published of it
  float *value, *old;
  size_t capacity;  // candidates
};

using kernels::Bf16;

__device__ inline float load_once(const float* p) { return __ldcs(p); }
__device__ inline float load_once(const Bf16* p) {
  return kernels::widen(Bf16{__ldcs(reinterpret_cast<const unsigned short*>(p))});
}

template <typename T>  // float or Bf16
struct SelectSource {  // kernel argument
  T* w;
  T* published;
  size_t n;
  bool is_aligned;
  bool is_absolute;
  bool clears;
  __device__ bool changes() const { return published != nullptr || clears; }
  __device__ float u(float weight, float old) const {
    return published != nullptr ? weight - old : weight;
  }
  __device__ float u(size_t i) const {
    return published != nullptr ? load_once(w + i) - load_once(published + i) : load_once(w + i);
  }
  // Brings up to date what entry i changes; undo() makes it what it was.
  __device__ void update(size_t i, float weight, float old) const {
    if (published != nullptr) {
      const auto kind =
          is_absolute ? kernels::PublishKind::kAbsolute : kernels::PublishKind::kDelta;
      published[i] =
          kernels::stored_as(kernels::published_after(kind, weight, old, weight - old), T{});
    } else if (clears) {
      w[i] = T{};
    }
  }
  __device__ void undo(size_t i, float weight, float old) const {
    if (published != nullptr) {
      published[i] = kernels::stored_as(old, T{});
    } else if (clears) {
      w[i] = kernels::stored_as(weight, T{});
    }
  }
};

__device__ inline uint32_t select_key(float u) { return __float_as_uint(u) & 0x7fffffffu; }

// The candidates are no use: the array is read instead.
__device__ inline bool reads_array(const SelectState& state) {
  return state.is_repaired != 0 || state.is_overflown != 0;
}

constexpr size_t select_tiles(size_t n) { return (n + kSelectTile - 1) / kSelectTile; }
constexpr size_t select_groups(size_t n) {
  return (select_tiles(n) + kSelectGroup - 1) / kSelectGroup;
}

// The steps, in order; each queues its kernels.
template <typename T>
void select_guess(const SelectSource<T>& from, const SelectWork& work, size_t k, uint32_t prior,
                  cudaStream_t on);
void select_given(const SelectWork& work, uint32_t tau, cudaStream_t on);
template <typename T>
cudaError_t select_collect(const SelectSource<T>& from, const SelectWork& work, int multiprocessors,
                           cudaStream_t on);
template <typename T>
void select_narrow(const SelectSource<T>& from, const SelectWork& work, size_t k, int grid,
                   cudaStream_t on);
template <typename T>
void select_restore(const SelectSource<T>& from, const SelectWork& work, int grid, cudaStream_t on);
template <typename T>
void select_emit(const SelectSource<T>& from, const SelectWork& work, const HsCudaSelectOut& out,
                 HsCudaSelected* selected, cudaStream_t on);

}  // namespace hearsay::cuda
