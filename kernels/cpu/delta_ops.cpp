// SPDX-License-Identifier: Apache-2.0
// The reference of delta: rows in two loops, one that vectorises and leaves the magnitudes in L1,
// one that counts them.
#include "kernels/ops/delta_ops.hpp"

#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/cpu/bin_table.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/cpu/tile_tree.hpp"
#include "kernels/ops/delta_math.hpp"

namespace hearsay::kernels {
namespace {

struct Part {
  BinTable bins{kCoarseBins};
  std::uint32_t max_bits = 0;
  std::uint64_t bad = 0;
};

struct Row {
  std::size_t n;
  const float* w;
  float* anchor;
  float* momentum;     // scratch where there is none
  const float* error;  // w where there is none
  float* out;          // scratch where there is none
  float mu;
};

template <DeltaMomentum kMomentum, bool kHasError, bool kRefresh>
[[gnu::always_inline]] inline void step_row(const Row& row, float* __restrict sizes,
                                            double* __restrict sums, std::uint32_t& max_bits,
                                            std::uint64_t& bad) {
  const std::size_t n = row.n;
  const float *w = row.w, *error = row.error;
  float *anchor = row.anchor, *momentum = row.momentum, *out = row.out;
  std::uint32_t bad_here = 0, max_here = max_bits;
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float was = kMomentum == DeltaMomentum::none ? 0.0f : momentum[i];
    const float e = kHasError ? error[i] : 0.0f;
    const DeltaStep step = delta_step<kMomentum, kHasError>(w[i], anchor[i], was, e, row.mu);
    const std::uint32_t size = float_bits(step.u) & kMagnitude, skip = 0u - step.bad;
    max_here = size > max_here ? size : max_here;
    bad_here += step.bad;
    if (kMomentum != DeltaMomentum::none) momentum[i] = step.momentum;
    if (kRefresh) {
      anchor[i] = bits_float((float_bits(anchor[i]) & skip) | (float_bits(w[i]) & ~skip));
    }
    out[i] = step.u;
    sizes[i] = step.size;
    const double u = static_cast<double>(step.u);
    sums[i] += u * u;
  }
  max_bits = max_here;
  bad += bad_here;
}

template <DeltaMomentum kMomentum>
[[gnu::always_inline]] inline void momentum_row(const Row& row, bool has_error, bool refresh,
                                                float* sizes, double* sums, std::uint32_t& max_bits,
                                                std::uint64_t& bad) {
  if (has_error && refresh) return step_row<kMomentum, true, true>(row, sizes, sums, max_bits, bad);
  if (has_error) return step_row<kMomentum, true, false>(row, sizes, sums, max_bits, bad);
  if (refresh) return step_row<kMomentum, false, true>(row, sizes, sums, max_bits, bad);
  step_row<kMomentum, false, false>(row, sizes, sums, max_bits, bad);
}

HS_CLONES void delta_row(const Row& row, DeltaMomentum momentum, bool has_error, bool refresh,
                         float* sizes, double* sums, std::uint32_t& max_bits, std::uint64_t& bad) {
  if (momentum == DeltaMomentum::none) {
    momentum_row<DeltaMomentum::none>(row, has_error, refresh, sizes, sums, max_bits, bad);
  } else if (momentum == DeltaMomentum::plain) {
    momentum_row<DeltaMomentum::plain>(row, has_error, refresh, sizes, sums, max_bits, bad);
  } else {
    momentum_row<DeltaMomentum::nesterov>(row, has_error, refresh, sizes, sums, max_bits, bad);
  }
}

void check(const DeltaArrays& a, const DeltaRule& rule) {
  const std::size_t n = a.w.size();
  HS_CHECK(a.anchor.size() == n);
  HS_CHECK(a.momentum.empty() || a.momentum.size() == n);
  HS_CHECK(a.error.empty() || a.error.size() == n);
  HS_CHECK(a.out.empty() || a.out.size() == n);
  HS_CHECK(!rule.is_nesterov || n == 0 || !a.momentum.empty());
}

}  // namespace

DeltaResult delta(const DeltaArrays& a, const DeltaRule& rule, Workers& workers) {
  check(a, rule);
  const DeltaMomentum momentum = a.momentum.empty() ? DeltaMomentum::none
                                 : rule.is_nesterov ? DeltaMomentum::nesterov
                                                    : DeltaMomentum::plain;
  std::vector<Part> parts(workers.count());
  const auto sums = sum_rows<1>(
      a.w.size(), workers, [&](std::size_t at, std::size_t n, TileSums* tile, std::size_t p) {
        alignas(64) float sizes[kRowValues], unwanted[kRowValues];
        Part& part = parts[p];
        const Row row{n,
                      a.w.data() + at,
                      a.anchor.data() + at,
                      a.momentum.empty() ? nullptr : a.momentum.data() + at,
                      a.error.empty() ? nullptr : a.error.data() + at,
                      a.out.empty() ? unwanted : a.out.data() + at,
                      rule.mu};
        delta_row(row, momentum, !a.error.empty(), rule.is_refreshing, sizes, tile->at,
                  part.max_bits, part.bad);
        alignas(64) std::uint32_t slots[kRowValues];
        coarse_slots(n, sizes, slots);
        part.bins.add_slots(n, slots);
      });
  DeltaResult result;
  std::uint32_t max_bits = 0;
  for (Part& part : parts) {
    part.bins.move_to(result.histogram.data());
    max_bits = std::max(max_bits, part.max_bits);
    result.bad += part.bad;
  }
  result.update_sq = sums[0];
  result.max_update = bits_float(max_bits);
  return result;
}

}  // namespace hearsay::kernels
