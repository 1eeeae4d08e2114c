// SPDX-License-Identifier: Apache-2.0
// Inputs of benches, quickly: normal values with an outlier in a thousand. Drawing more than a few
// millions takes longer than the bench, so that they repeat, moved and negated.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/core/rng.hpp"

namespace hearsay::kernels {

inline std::vector<float> bench_values(std::size_t n, const char* purpose) {
  constexpr std::size_t kPeriod = 1 << 21;
  Rng rng = Rng::stream(11, purpose);
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = i < kPeriod
                    ? static_cast<float>(rng.normal()) * (rng.below(1000) == 0 ? 100.0f : 1.0f)
                    : -values[i - kPeriod + i % 7];
  }
  return values;
}

}  // namespace hearsay::kernels
