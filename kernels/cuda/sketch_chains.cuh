// SPDX-License-Identifier: Apache-2.0
// The last step of the sketches: sums over the chains, in their order, in fp64.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace hearsay::cuda {

// y[j] = scale * sum over chains of parts[chain][kept[j]]; a null `kept` means j itself.
static __global__ void __launch_bounds__(64)
    add_chains(const float* parts, uint32_t chains, uint32_t values, const uint16_t* kept,
               uint32_t count, double scale, float* y) {
  const uint32_t j = blockIdx.x * 64 + threadIdx.x;
  if (j >= count) return;
  const float* const from = parts + (kept != nullptr ? kept[j] : j);
  double sum = 0.0;
#pragma unroll 16
  for (uint32_t c = 0; c < chains; ++c)
    sum += static_cast<double>(from[static_cast<size_t>(c) * values]);
  y[j] = static_cast<float>(sum * scale);
}

}  // namespace hearsay::cuda
