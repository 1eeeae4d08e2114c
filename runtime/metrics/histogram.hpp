// SPDX-License-Identifier: Apache-2.0
// How often values fell between fixed bounds, and their sum: what Prometheus calls a histogram.
// Invariant: bounds rise and never change, so that histograms of all peers can be added up; a value
// on a bound counts below it. Plain data, no lane. Cost of add(): a search over the bounds, no
// allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hearsay::runtime {

template <const auto& kBounds>
struct Histogram {
  static constexpr std::size_t kBuckets = kBounds.size() + 1;  // the last one has no upper bound
  static constexpr const auto& bounds() { return kBounds; }

  std::array<std::uint64_t, kBuckets> counts{};
  double sum = 0.0;

  void add(double value) {
    if (!std::isfinite(value)) return;  // one such value would spoil the sum for ever
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), value);
    ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
    sum += value;
  }
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

// Mini-batches take 50 us (a small model) to seconds (a large one on a shared core).
inline constexpr std::array kStepBounds_s{2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3,
                                          2.5e-3, 5e-3, 0.01, 0.025,  0.05, 0.1,
                                          0.25,   0.5,  1.0,  2.5,    5.0,  10.0};
// 0: the model that came in was not behind at all.
inline constexpr std::array kAgeBounds_samples{0.0,     64.0,    256.0,    1024.0,   4096.0,
                                               16384.0, 65536.0, 262144.0, 1048576.0};

using StepSeconds = Histogram<kStepBounds_s>;
using MergeAges = Histogram<kAgeBounds_samples>;

}  // namespace hearsay::runtime
