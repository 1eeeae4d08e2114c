// SPDX-License-Identifier: Apache-2.0
// Inputs of the merging benches, CPU and CUDA: normal values with outliers, drawn for one period
// that is no multiple of a tile and then repeated, since drawing 10^9 takes longer than all
// kernels.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/core/half.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::kernels {

template <typename T = float>
std::vector<T> bench_values(std::size_t n, const std::string& purpose, float scale = 1.0f) {
  constexpr std::size_t kPeriod = 4'194'301;  // a prime
  Rng rng = Rng::stream(11, purpose);
  std::vector<T> values(n);
  const std::size_t drawn = std::min(n, kPeriod);
  for (std::size_t i = 0; i < drawn; ++i) {
    const bool is_outlier = rng.below(1000) == 0;
    const float x = static_cast<float>(rng.normal()) * scale * (is_outlier ? 100.0f : 1.0f);
    if constexpr (std::is_same_v<T, float>) {
      values[i] = x;
    } else {
      values[i] = nearest(x, T{});
    }
  }
  for (std::size_t at = drawn; at < n; at += drawn)
    std::copy_n(values.data(), std::min(drawn, n - at), values.data() + at);
  return values;
}

template <typename T>
std::uint64_t differences(const std::vector<T>& a, const std::vector<T>& b) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += std::memcmp(&a[i], &b[i], sizeof(T)) != 0;
  return wrong;
}

}  // namespace hearsay::kernels
