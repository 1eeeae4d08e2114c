// SPDX-License-Identifier: Apache-2.0
// The numbers of a selection that CPU and GPU share: the key that orders magnitudes, where a sample
// is read, which ranks of the sample guard the true threshold, and what is published. The sample
// and the guard only decide how much work a selection is; its result does not depend on them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/core/half.hpp"
#include "kernels/core/host_device.hpp"
#include "kernels/core/philox.hpp"

namespace hearsay::kernels {

inline constexpr std::uint32_t kSelectNotFinite = 0x7f800000u;  // keys from here on: Inf and NaN
inline constexpr std::size_t kSelectWireTile = 65'536;  // values whose offset fits in 16 bits
inline constexpr std::size_t kSelectSector = 8;         // neighbours read together: 32 B of fp32
inline constexpr unsigned kSelectSampleShift = 15;      // bins of a sample: key >> 15
inline constexpr std::size_t kSelectSampleBins = kSelectNotFinite >> kSelectSampleShift;

// What the value of an entry is: the difference to what was published, or the weight itself.
enum class PublishKind : int { kDelta = 0, kAbsolute = 1 };

// published' of an entry whose difference is u.
HS_HD inline float published_after(PublishKind kind, float w, float published, float u) {
  return kind == PublishKind::kAbsolute ? w : published + u;
}

// What an array of that type keeps of a value: bf16 the nearest one.
HS_HD inline float stored_as(float x, float) { return x; }
HS_HD inline Bf16 stored_as(float x, Bf16) { return nearest(x, Bf16{}); }

// First value of sector `stratum` of a stratified sample: one random sector from each of `strata`
// equal runs of sectors. strata <= n / 8; all sectors when equal.
HS_HD inline std::size_t sample_begin(std::size_t n, std::size_t strata, std::size_t stratum) {
  const std::size_t sectors = n / kSelectSector;
  const std::size_t first = stratum * sectors / strata, end = (stratum + 1) * sectors / strata;
  const PhiloxBlock random =
      philox_block({{static_cast<std::uint32_t>(stratum), 0u, 0u, 0u}}, 0x5e1ec7u, 0u);
  return (first + random.word[0] % (end - first)) * kSelectSector;
}

// Ranks in a sample of `sampled` values between which the k-th largest of n lies, but for about one
// sample in 1e5: six standard deviations of independent draws, because neighbours are alike.
// certain == 0: no value is certain.
struct GuardRanks {
  std::uint64_t certain = 0, candidate = 0;
};
inline GuardRanks guard_ranks(std::size_t n, std::size_t k, std::size_t sampled) {
  const double rank =
      n == 0 ? 0.0 : static_cast<double>(k) * static_cast<double>(sampled) / static_cast<double>(n);
  const double guard = 6.0 * std::sqrt(rank) + 8.0;
  return {rank > guard ? static_cast<std::uint64_t>(rank - guard) : 0,
          static_cast<std::uint64_t>(rank + guard)};
}

}  // namespace hearsay::kernels
