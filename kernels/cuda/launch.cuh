// SPDX-License-Identifier: Apache-2.0
// What launches share: grids that stay resident, alignment, and the tile on which all reductions
// are cut, whatever the grid.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace hearsay::cuda {

inline constexpr int kBlock = 256;          // threads
inline constexpr std::size_t kTile = 4096;  // values of a work tile

inline bool is_aligned16(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

// Multiprocessors of the current device; 0 and a cudaError_t when it cannot be asked.
inline int multiprocessors(cudaError_t& error) {
  int device = 0, count = 0;
  error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  }
  return error == cudaSuccess ? count : 0;
}

inline cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace hearsay::cuda
