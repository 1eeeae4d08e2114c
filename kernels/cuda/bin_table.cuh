// SPDX-License-Identifier: Apache-2.0
// A histogram in shared memory: kCopies tables side by side, chosen by the lane, so that lanes that
// hit one bin meet less often. 32-bit counts; a block drains them to 64-bit ones in global memory
// at its end and before they can overflow.
#pragma once

#include "kernels/cuda/launch.cuh"

namespace hearsay::cuda {

inline constexpr size_t kTilesPerDrain = size_t{1} << 18;  // 2^30 values

template <int kBins, int kCopies>
struct BinTable {
  unsigned count[kBins * kCopies];

  // Whole block; a __syncthreads must follow before the first add.
  __device__ void clear() {
    for (int i = threadIdx.x; i < kBins * kCopies; i += kBlock) count[i] = 0;
  }
  __device__ void add(unsigned bin) {
    atomicAdd(&count[bin * kCopies + threadIdx.x % kCopies], 1u);
  }
  // Whole block, between two __syncthreads; is clear afterwards.
  __device__ void drain(unsigned long long* out) {
    for (int bin = threadIdx.x; bin < kBins; bin += kBlock) {
      unsigned sum = 0;
      for (int copy = 0; copy < kCopies; ++copy) {
        sum += count[bin * kCopies + copy];
        count[bin * kCopies + copy] = 0;
      }
      if (sum != 0) atomicAdd(out + bin, static_cast<unsigned long long>(sum));
    }
  }
};

}  // namespace hearsay::cuda
