// SPDX-License-Identifier: Apache-2.0
// Histograms of magnitudes, for CPU and GPU: 2048 bins by the upper bits of |x|, eight to a power
// of two, so that a bin's ends differ by at most 12.5 %. What is not finite is counted in one bin,
// whatever its bits. Counts are integers: the same in any order.
#pragma once

#include <cstdint>

#include "kernels/core/half.hpp"

namespace hearsay::kernels {

inline constexpr std::uint32_t kCoarseBins = 2048, kNotFiniteBin = 2040;

HS_HD inline std::uint32_t coarse_bin(float x) {
  const std::uint32_t bin = (float_bits(x) & kMagnitude) >> 20;
  return bin > kNotFiniteBin ? kNotFiniteBin : bin;
}

// The smallest magnitude of a bin; of the bin that is not finite, the largest finite number.
HS_HD inline float coarse_edge(std::uint32_t bin) {
  return bits_float(bin >= kNotFiniteBin ? kInfinity - 1u : bin << 20);
}

}  // namespace hearsay::kernels
