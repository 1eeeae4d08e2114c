// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/merge_ops.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kTile = 4096;
constexpr std::size_t kLanes = 16;

double tree_sum(double (&lanes)[kLanes]) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

bool is_bad(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) == 0x7f800000u; }

// One tile of at most kTile values. Lane l sums the terms i = l, l + 16, ... in order.
HS_CLONES void stats_tile(std::size_t n, const float* w, const float* in, const float* base,
                          const float* mark, MergeStats& out) {
  double displacement[kLanes] = {}, weights[kLanes] = {}, local[kLanes] = {}, dot[kLanes] = {};
  std::uint32_t bad[kLanes] = {};
  const auto term = [&](std::size_t i, std::size_t l) {
    const double d = static_cast<double>(in[i] - base[i]);
    const double wi = static_cast<double>(w[i]);
    const double moved = static_cast<double>(w[i] - mark[i]);
    displacement[l] += d * d;
    weights[l] += wi * wi;
    local[l] += moved * moved;
    dot[l] += d * moved;
    bad[l] += static_cast<std::uint32_t>(is_bad(in[i])) | static_cast<std::uint32_t>(is_bad(w[i]));
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) term(i + l, l);
  }
  for (std::size_t l = 0; i < n; ++i, ++l) term(i, l);
  out.displacement_sq += tree_sum(displacement);
  out.weights_sq += tree_sum(weights);
  out.local_sq += tree_sum(local);
  out.dot += tree_sum(dot);
  for (const std::uint32_t b : bad) out.bad += b;
}

HS_CLONES double distance_tile(std::size_t n, const float* a, const float* b) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double d = static_cast<double>(a[i + l] - b[i + l]);
      lanes[l] += d * d;
    }
  }
  for (std::size_t l = 0; i < n; ++i, ++l) {
    const double d = static_cast<double>(a[i] - b[i]);
    lanes[l] += d * d;
  }
  return tree_sum(lanes);
}

HS_CLONES void blend_all(float alpha, std::size_t n, float* __restrict w,
                         const float* __restrict in) {
  for (std::size_t i = 0; i < n; ++i) w[i] += alpha * (in[i] - w[i]);
}

HS_CLONES void blend_base(float alpha, std::size_t n, float* __restrict w,
                          const float* __restrict in, const float* __restrict base) {
  for (std::size_t i = 0; i < n; ++i) w[i] += alpha * (in[i] - base[i]);
}

HS_CLONES void blend_mark(float alpha, std::size_t n, float* __restrict w,
                          const float* __restrict in, float* __restrict mark) {
  for (std::size_t i = 0; i < n; ++i) {
    const float u = alpha * (in[i] - w[i]);
    w[i] += u;
    mark[i] += u;
  }
}

HS_CLONES void blend_base_mark(float alpha, std::size_t n, float* __restrict w,
                               const float* __restrict in, const float* __restrict base,
                               float* __restrict mark) {
  for (std::size_t i = 0; i < n; ++i) {
    const float u = alpha * (in[i] - base[i]);
    w[i] += u;
    mark[i] += u;
  }
}

HS_CLONES void add_all(std::size_t n, float* __restrict acc, const float* __restrict x) {
  for (std::size_t i = 0; i < n; ++i) acc[i] += x[i];
}

void copy_with_mark(std::span<float> w, std::span<const float> in, std::span<float> mark) {
  for (std::size_t i = 0; i < mark.size(); ++i) mark[i] += in[i] - w[i];
  std::copy(in.begin(), in.end(), w.begin());
}

}  // namespace

MergeStats merge_stats(std::span<const float> w, std::span<const float> in,
                       std::span<const float> base, std::span<const float> mark) {
  HS_CHECK(in.size() == w.size() && (base.empty() || base.size() == w.size()));
  HS_CHECK(mark.empty() || mark.size() == w.size());
  if (base.empty()) base = w;
  if (mark.empty()) mark = w;  // w - w: local_sq and dot stay 0 for finite weights
  MergeStats stats;
  for (std::size_t t = 0; t < w.size(); t += kTile) {
    stats_tile(std::min(kTile, w.size() - t), w.data() + t, in.data() + t, base.data() + t,
               mark.data() + t, stats);
  }
  return stats;
}

void merge_blend(float alpha, std::span<float> w, std::span<const float> in,
                 std::span<const float> base, std::span<float> mark) {
  HS_CHECK(in.size() == w.size() && (base.empty() || base.size() == w.size()));
  HS_CHECK(mark.empty() || mark.size() == w.size());
  if (alpha == 0.0f) return;
  if (alpha == 1.0f && base.empty()) return copy_with_mark(w, in, mark);
  if (base.empty() && mark.empty()) return blend_all(alpha, w.size(), w.data(), in.data());
  if (base.empty()) return blend_mark(alpha, w.size(), w.data(), in.data(), mark.data());
  if (mark.empty()) return blend_base(alpha, w.size(), w.data(), in.data(), base.data());
  blend_base_mark(alpha, w.size(), w.data(), in.data(), base.data(), mark.data());
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  static constexpr float kZeros[kTile] = {};
  HS_CHECK(b.empty() || b.size() == a.size());
  double sum = 0.0;
  for (std::size_t t = 0; t < a.size(); t += kTile) {
    sum += distance_tile(std::min(kTile, a.size() - t), a.data() + t,
                         b.empty() ? kZeros : b.data() + t);
  }
  return sum;
}

void accumulate(std::span<float> acc, std::span<const float> x) {
  HS_CHECK(acc.size() == x.size());
  add_all(acc.size(), acc.data(), x.data());
}

}  // namespace hearsay::kernels
