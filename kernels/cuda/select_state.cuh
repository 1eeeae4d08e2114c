// SPDX-License-Identifier: Apache-2.0
// What the kernels of one selection hand to each other on the device, and where it lies in the
// workspace. A selection guesses a guarded threshold (select_guess.cu), collects candidates in one
// dense pass (select_collect.cu), narrows the threshold down (select_guess.cu) and writes what is
// left in order (select_emit.cu). When the guess was wrong, the same kernels read the array instead
// of the candidates.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/select_api.h"
#include "kernels/ops/select_math.hpp"

namespace hearsay::cuda {

inline constexpr size_t kSelectTile = 8192;  // values that one block collects, one warp emits
inline constexpr uint32_t kSelectBins = 65'536;
inline constexpr size_t kSelectStrata = 131'072;  // sectors of a sample: a million values
inline constexpr uint32_t kSelectEnd = kernels::kSelectNotFinite;

struct SelectState {
  unsigned long long bad, candidates, certain;
  uint32_t lo, hi, shift;  // candidates are keys >= lo; hi and more are certain; bins are
                           // (key - lo) >> shift
  uint32_t is_overflown;   // more candidates than there is room
  uint32_t is_repaired;    // hi, lo and bins are of the whole array
  uint32_t is_settled;     // tau and ties are known
  uint32_t bin_lo;         // lower edge of the bin that holds the threshold
  uint64_t need;           // entries that lie in that bin
  uint32_t tau;            // entries: keys > tau and the first `ties` keys == tau
  uint64_t ties;
};

struct SelectWork {
  SelectState* state;
  uint32_t* bins;
  uint2* slot;   // of each tile: its first candidate and their number
  uint2* count;  // of each tile: keys > tau and == tau; after the scan: those of the tiles before
  uint32_t* index;
  float* value;
  size_t capacity;  // candidates
};

struct SelectSource {  // kernel argument
  float* w;
  float* published;
  size_t n;
  bool is_aligned;
  bool is_absolute;
  bool clears;
  __device__ float u(size_t i) const {
    return published != nullptr ? __ldcs(w + i) - __ldcs(published + i) : __ldcs(w + i);
  }
};

__device__ inline uint32_t select_key(float u) { return __float_as_uint(u) & 0x7fffffffu; }

inline size_t select_tiles(size_t n) { return (n + kSelectTile - 1) / kSelectTile; }

// The steps, in order; each queues its kernels.
void select_guess(const SelectSource& from, const SelectWork& work, size_t k, uint32_t prior,
                  cudaStream_t on);
void select_given(const SelectWork& work, uint32_t tau, cudaStream_t on);
void select_collect(const SelectSource& from, const SelectWork& work, int multiprocessors,
                    cudaStream_t on);
void select_narrow(const SelectSource& from, const SelectWork& work, size_t k, int grid,
                   cudaStream_t on);
void select_emit(const SelectSource& from, const SelectWork& work, const HsCudaSelectOut& out,
                 HsCudaSelected* selected, int grid, cudaStream_t on);

}  // namespace hearsay::cuda
