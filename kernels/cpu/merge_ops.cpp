// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/merge_ops.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/core/half.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/tile_tree.hpp"
#include "kernels/ops/vector_ops.hpp"

namespace hearsay::kernels {
namespace {

// Bits, not classes of floats: the loop vectorises.
[[gnu::always_inline]] inline std::uint32_t bad_count(float x, float y) {
  return static_cast<std::uint32_t>((float_bits(x) & kInfinity) == kInfinity) +
         static_cast<std::uint32_t>((float_bits(y) & kInfinity) == kInfinity);
}

HS_CLONES std::uint32_t stats_row(std::size_t n, const float* w, const float* in, const float* base,
                                  double* __restrict displacement, double* __restrict weights) {
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(in[i] - base[i]);
    const double wi = static_cast<double>(w[i]);
    displacement[i] += d * d;
    weights[i] += wi * wi;
    bad += bad_count(w[i], in[i]);
  }
  return bad;
}

HS_CLONES void mark_row(std::size_t n, const float* w, const float* in, const float* base,
                        const float* mark, double* __restrict local, double* __restrict dot) {
  for (std::size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(in[i] - base[i]);
    const double moved = static_cast<double>(w[i] - mark[i]);
    local[i] += moved * moved;
    dot[i] += d * moved;
  }
}

HS_CLONES void distance_row(std::size_t n, const float* a, const float* b,
                            double* __restrict sums) {
  for (std::size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(a[i] - b[i]);
    sums[i] += d * d;
  }
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
                       std::span<const float> base, std::span<const float> mark, Workers& workers) {
  HS_CHECK(in.size() == w.size() && (base.empty() || base.size() == w.size()));
  HS_CHECK(mark.empty() || mark.size() == w.size());
  if (base.empty()) base = w;
  std::vector<std::uint64_t> bad(workers.count());
  const auto row = [&](std::size_t at, std::size_t n, TileSums* sums, std::size_t part) {
    bad[part] +=
        stats_row(n, w.data() + at, in.data() + at, base.data() + at, sums[0].at, sums[1].at);
  };
  MergeStats stats;
  if (mark.empty()) {
    const auto sums = sum_rows<2>(w.size(), workers, row);
    stats = {sums[0], sums[1]};
  } else {
    const auto sums = sum_rows<4>(
        w.size(), workers, [&](std::size_t at, std::size_t n, TileSums* tile, std::size_t part) {
          row(at, n, tile, part);
          mark_row(n, w.data() + at, in.data() + at, base.data() + at, mark.data() + at, tile[2].at,
                   tile[3].at);
        });
    stats = {sums[0], sums[1], sums[2], sums[3]};
  }
  for (const std::uint64_t part : bad) stats.bad += part;
  return stats;
}

MergeStats merge_stats(std::span<const float> w, std::span<const float> in,
                       std::span<const float> base, std::span<const float> mark) {
  OneWorker alone;
  return merge_stats(w, in, base, mark, alone);
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

double squared_distance(std::span<const float> a, std::span<const float> b, Workers& workers) {
  HS_CHECK(b.empty() || b.size() == a.size());
  if (b.empty()) return squared_norm(a, workers);
  return sum_rows<1>(a.size(), workers,
                     [&](std::size_t at, std::size_t n, TileSums* sums, std::size_t) {
                       distance_row(n, a.data() + at, b.data() + at, sums->at);
                     })[0];
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  OneWorker alone;
  return squared_distance(a, b, alone);
}

void accumulate(std::span<float> acc, std::span<const float> x) {
  HS_CHECK(acc.size() == x.size());
  add_all(acc.size(), acc.data(), x.data());
}

}  // namespace hearsay::kernels
