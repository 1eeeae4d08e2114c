// SPDX-License-Identifier: Apache-2.0
// The reference of the EMA merge. A tile goes row by row: what is 16-bit becomes fp32 in L1
// scratch, one loop does the merge with all checks, then w is rounded. fp32 <- fp32 has no scratch.
#include "kernels/ops/ema_ops.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/rows.hpp"
#include "kernels/cpu/tile_tree.hpp"
#include "kernels/ops/ema_math.hpp"

namespace hearsay::kernels {
namespace {

struct Counts {
  std::uint32_t max_bits = 0;
  std::uint64_t bad = 0, changed = 0;
};

enum class Alpha { other, zero, one };

// v may be w, and out is w or scratch: a value depends on no other, which ivdep says. Which alpha
// it is stands outside the loop.
template <Alpha kAlpha>
[[gnu::always_inline]] inline void step_row(float alpha, std::size_t n, const float* w,
                                            const float* v, float* out, std::uint32_t limit,
                                            double* __restrict sums, Counts& counts) {
  std::uint32_t bad = 0, changed = 0, max_bits = counts.max_bits;
  const float factor = kAlpha == Alpha::other ? alpha : kAlpha == Alpha::one ? 1.0f : 0.0f;
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float before = w[i];
    const EmaStep step = ema_step<kAlpha == Alpha::other>(factor, before, v[i], limit);
    const std::uint32_t size = float_bits(step.u) & kMagnitude;
    max_bits = size > max_bits ? size : max_bits;
    bad += step.bad;
    changed += float_bits(step.w) != float_bits(before);
    out[i] = step.w;
    const double u = static_cast<double>(step.u);
    sums[i] += u * u;
  }
  counts.max_bits = max_bits;
  counts.bad += bad;
  counts.changed += changed;
}

HS_CLONES void ema_row(float alpha, std::size_t n, const float* w, const float* v, float* out,
                       std::uint32_t limit, double* __restrict sums, Counts& counts) {
  if (alpha == 0.0f) {
    step_row<Alpha::zero>(alpha, n, w, v, out, limit, sums, counts);
  } else if (alpha == 1.0f) {
    step_row<Alpha::one>(alpha, n, w, v, out, limit, sums, counts);
  } else {
    step_row<Alpha::other>(alpha, n, w, v, out, limit, sums, counts);
  }
}

const float* widened(ElementType type, const void* from, std::size_t at, std::size_t n,
                     float* scratch) {
  switch (type) {
    case ElementType::fp32: return static_cast<const float*>(from) + at;
    case ElementType::bf16: widen_row(n, static_cast<const Bf16*>(from) + at, scratch); break;
    case ElementType::fp16: widen_row(n, static_cast<const Fp16*>(from) + at, scratch); break;
  }
  return scratch;
}

struct Scratch {
  alignas(64) float w[kRowValues], v[kRowValues], out[kRowValues];
  alignas(64) std::uint16_t random[kRowValues];
  TileSums sums;
};

// Values [at, at + n) of a span whose w is 16-bit.
template <typename Half>
void half_row(const EmaSpan& span, const EmaRule& rule, std::size_t at, std::size_t n, Scratch& s,
              Counts& counts) {
  Half* w = static_cast<Half*>(span.w) + at;
  const float* v = widened(rule.v_type, span.v, at, n, s.v);
  Counts merged{counts.max_bits};
  std::uint32_t changed = 0;
  if (rule.store == EmaStore::master) {
    float* master = span.master + at;
    std::copy_n(master, n, s.w);
    ema_row(span.alpha, n, s.w, v, master, Half::kMaxBits, s.sums.at, merged);
    changed = store_nearest(n, master, s.w, w);
  } else {
    widen_row(n, w, s.w);
    ema_row(span.alpha, n, s.w, v, s.out, Half::kMaxBits, s.sums.at, merged);
    if (rule.store == EmaStore::random) {
      fill_rounding_bits(span.first + at, rule.seed, rule.merge_id, s.random);
      changed = store_random(n, s.out, s.w, s.random, w);
    } else {
      changed = store_nearest(n, s.out, s.w, w);
    }
  }
  counts.max_bits = merged.max_bits;
  counts.bad += merged.bad;
  counts.changed += changed;
}

double ema_tile(const EmaSpan& span, const EmaRule& rule, std::size_t tile, Scratch& s,
                Counts& counts) {
  const std::size_t end = std::min(span.n, (tile + 1) * kTileValues);
  for (std::size_t at = tile * kTileValues; at < end; at += kRowValues) {
    const std::size_t n = std::min(kRowValues, end - at);
    if (rule.w_type == ElementType::bf16) {
      half_row<Bf16>(span, rule, at, n, s, counts);
    } else if (rule.w_type == ElementType::fp16) {
      half_row<Fp16>(span, rule, at, n, s, counts);
    } else {
      float* w = static_cast<float*>(span.w) + at;
      ema_row(span.alpha, n, w, widened(rule.v_type, span.v, at, n, s.v), w, kInfinity - 1,
              s.sums.at, counts);
    }
  }
  return take_tile_sum(s.sums);
}

void check(const EmaSpan& span, const EmaRule& rule) {
  HS_CHECK(span.first % 8 == 0);
  HS_CHECK(span.n == 0 || (span.w != nullptr && span.v != nullptr));
  const bool has_master = rule.store == EmaStore::master;
  HS_CHECK(!has_master || rule.w_type != ElementType::fp32);
  HS_CHECK(!has_master || span.n == 0 || span.master != nullptr);
}

}  // namespace

EmaResult ema(std::span<const EmaSpan> spans, const EmaRule& rule, Workers& workers) {
  std::vector<std::size_t> first_tile;
  std::size_t tiles = 0;
  for (const EmaSpan& span : spans) {
    check(span, rule);
    first_tile.push_back(tiles);
    tiles += tiles_of(span.n);
  }
  std::vector<double> sums(tiles);
  std::vector<Counts> counts(workers.count());
  for_tiles(workers, tiles, 1, [&](std::size_t begin, std::size_t end, std::size_t part) {
    Scratch scratch;
    Counts mine;
    auto next = std::upper_bound(first_tile.begin(), first_tile.end(), begin);
    std::size_t s = static_cast<std::size_t>(next - first_tile.begin()) - 1;
    for (std::size_t tile = begin; tile < end; ++tile) {
      while (tile - first_tile[s] >= tiles_of(spans[s].n)) ++s;
      sums[tile] = ema_tile(spans[s], rule, tile - first_tile[s], scratch, mine);
    }
    counts[part] = mine;
  });
  EmaResult result;
  std::uint32_t max_bits = 0;
  for (const Counts& part : counts) {
    max_bits = std::max(max_bits, part.max_bits);
    result.bad += part.bad;
    result.changed += part.changed;
  }
  result.update_sq = sum_of_tiles(sums);
  result.max_update = bits_float(max_bits);
  return result;
}

EmaResult ema(float alpha, std::span<float> w, std::span<const float> v, Workers& workers) {
  HS_CHECK(v.size() == w.size());
  const EmaSpan all{w.data(), v.data(), nullptr, w.size(), 0, alpha};
  return ema({&all, 1}, {}, workers);
}

}  // namespace hearsay::kernels
