// SPDX-License-Identifier: Apache-2.0
// The arithmetic of kernels/ops/moving_average_ops.hpp, for CPU and GPU.
#pragma once

#include "kernels/ops/magnitude_bins.hpp"

namespace hearsay::kernels {

inline constexpr std::uint32_t kZoomBins = 1024;

// rest = 1 - beta, rounded once. Skips what is not finite or over max_bits.
struct MovingStep {
  float ma;
  std::uint32_t bad;
};
HS_HD inline MovingStep moving_step(float ma, float g, float beta, float rest, bool is_squared,
                                    std::uint32_t max_bits) {
  const float size = is_squared ? g * g : bits_float(float_bits(g) & kMagnitude);
  const float mixed = beta * ma + rest * size;
  const std::uint32_t bad = static_cast<std::uint32_t>((float_bits(mixed) & kMagnitude) > max_bits);
  const std::uint32_t skip = 0u - bad;
  return {bits_float((float_bits(ma) & skip) | (float_bits(mixed) & ~skip)), bad};
}

// 1024 linear bins from `begin` on. Without a last tau, or one too small or too large to divide by,
// nothing lies inside.
struct ZoomWindow {
  float begin, end, scale;
};
HS_HD inline ZoomWindow zoom_window(float last_tau) {
  const float infinity = bits_float(kInfinity);
  if (!(last_tau > 1e-30f && last_tau < 1e30f)) return {infinity, infinity, 0.0f};
  const float begin = 0.8f * last_tau, end = 1.25f * last_tau;
  return {begin, end, static_cast<float>(kZoomBins) / (end - begin)};
}
HS_HD inline bool is_inside(const ZoomWindow& window, float x) {
  return x >= window.begin && x < window.end;
}
HS_HD inline std::uint32_t zoom_bin(const ZoomWindow& window, float x) {
  const auto bin = static_cast<std::uint32_t>((x - window.begin) * window.scale);
  return bin < kZoomBins ? bin : kZoomBins - 1u;
}

// `rank` (from 1) counts down from the upper end of a bin that holds `count` values.
HS_HD inline float inside_bin(double low, double high, std::uint64_t rank, std::uint64_t count) {
  const double share = static_cast<double>(rank) / static_cast<double>(count);
  return static_cast<float>(high - (high - low) * share);
}
HS_HD inline float inside_coarse(std::uint32_t bin, std::uint64_t rank, std::uint64_t count) {
  return inside_bin(static_cast<double>(coarse_edge(bin)),
                    static_cast<double>(coarse_edge(bin + 1)), rank, count);
}
HS_HD inline float inside_zoom(const ZoomWindow& window, std::uint32_t bin, std::uint64_t rank,
                               std::uint64_t count) {
  const double begin = static_cast<double>(window.begin);
  const double width = (static_cast<double>(window.end) - begin) / kZoomBins;
  return inside_bin(begin + width * bin, begin + width * (bin + 1), rank, count);
}

}  // namespace hearsay::kernels
