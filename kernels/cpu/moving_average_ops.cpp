// SPDX-License-Identifier: Apache-2.0
// The reference of moving_average: rows in two loops, one that vectorises, one that counts.
#include "kernels/ops/moving_average_ops.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/core/tile_tree.hpp"
#include "kernels/cpu/bin_table.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/rows.hpp"

namespace hearsay::kernels {
namespace {

template <bool kSquared>
[[gnu::always_inline]] inline std::uint32_t step_row(std::size_t n, const float* ma, const float* g,
                                                     float* out, float beta, float rest,
                                                     std::uint32_t max_bits) {
  std::uint32_t bad = 0;
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const MovingStep step = moving_step(ma[i], g[i], beta, rest, kSquared, max_bits);
    out[i] = step.ma;
    bad += step.bad;
  }
  return bad;
}

HS_CLONES std::uint32_t moving_row(std::size_t n, const float* ma, const float* g, float* out,
                                   float beta, bool is_squared, std::uint32_t max_bits) {
  const float rest = 1.0f - beta;
  return is_squared ? step_row<true>(n, ma, g, out, beta, rest, max_bits)
                    : step_row<false>(n, ma, g, out, beta, rest, max_bits);
}

HS_CLONES std::uint32_t count_from(std::size_t n, const float* x, float tau) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += x[i] >= tau;
  return count;
}

struct Part {
  BinTable coarse{kCoarseBins}, zoom{kZoomBins};
  std::uint64_t kept = 0, above = 0, bad = 0;
};

void count_row(std::size_t n, const float* x, float last_tau, const ZoomWindow& window,
               Part& part) {
  alignas(64) std::uint32_t slots[kRowValues];
  coarse_slots(n, x, slots);
  part.coarse.add_slots(n, slots);
  part.kept += count_from(n, x, last_tau);
  if (count_from(n, x, window.begin) == 0) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(x[i] >= window.begin)) continue;  // most, where few are kept
    if (is_inside(window, x[i])) {
      part.zoom.add(zoom_bin(window, x[i]), i);
    } else {
      ++part.above;
    }
  }
  part.zoom.note(n);
}

// Bit i of word i / 32; n <= kRowValues, rows begin at whole words.
void mask_row(std::size_t n, const float* x, float last_tau, std::uint32_t* mask) {
  for (std::size_t word = 0; word * 32 < n; ++word) {
    std::uint32_t bits = 0;
    for (std::size_t i = word * 32; i < std::min(n, word * 32 + 32); ++i)
      bits |= static_cast<std::uint32_t>(x[i] >= last_tau) << (i % 32);
    mask[word] = bits;
  }
}

float threshold(const MovingResult& counts, std::uint64_t n, const MovingRule& rule) {
  if (n == 0) return rule.last_tau;
  const std::uint64_t rank = std::clamp<std::uint64_t>(rule.keep, 1, n);
  const ZoomWindow window = zoom_window(rule.last_tau);
  std::uint64_t over = counts.above;
  for (std::uint32_t bin = kZoomBins; rank > counts.above && bin-- > 0;) {
    if (over + counts.zoom[bin] >= rank)
      return inside_zoom(window, bin, rank - over, counts.zoom[bin]);
    over += counts.zoom[bin];
  }
  over = 0;
  std::uint32_t bin = kCoarseBins - 1;
  for (; over + counts.coarse[bin] < rank; --bin) over += counts.coarse[bin];
  return inside_coarse(bin, rank - over, counts.coarse[bin]);
}

// Steps [at, at + count) of ma and returns where their stored values are as fp32.
const float* step(float* ma, const float* g, std::size_t, std::size_t count, const MovingRule& rule,
                  float*, float*, std::uint64_t& bad) {
  bad += moving_row(count, ma, g, ma, rule.beta, rule.is_squared, kInfinity - 1);
  return ma;
}
const float* step(Bf16* ma, const float* g, std::size_t at, std::size_t count,
                  const MovingRule& rule, float* before, float* after, std::uint64_t& bad) {
  alignas(64) std::uint16_t random[kRowValues];
  widen_row(count, ma, before);
  bad += moving_row(count, before, g, after, rule.beta, rule.is_squared, Bf16::kMaxBits);
  fill_rounding_bits(at, rule.seed, rule.step, random);
  store_random(count, after, before, random, ma);
  widen_row(count, ma, after);
  return after;
}

template <typename T>
MovingResult run(std::span<T> ma, std::span<const float> g, std::span<std::uint32_t> mask,
                 const MovingRule& rule, Workers& workers) {
  const std::size_t n = ma.size();
  HS_CHECK(g.size() == n);
  HS_CHECK(mask.empty() || mask.size() == (n + 31) / 32);
  const ZoomWindow window = zoom_window(rule.last_tau);
  std::vector<Part> parts(workers.count());
  for_tiles(workers, n, kTileValues, [&](std::size_t begin, std::size_t end, std::size_t p) {
    alignas(64) float before[kRowValues], after[kRowValues];
    for (std::size_t at = begin; at < end; at += kRowValues) {
      const std::size_t count = std::min(kRowValues, end - at);
      const float* x =
          step(ma.data() + at, g.data() + at, at, count, rule, before, after, parts[p].bad);
      count_row(count, x, rule.last_tau, window, parts[p]);
      if (!mask.empty()) mask_row(count, x, rule.last_tau, mask.data() + at / 32);
    }
  });
  MovingResult result;
  for (Part& part : parts) {
    part.coarse.move_to(result.coarse.data());
    part.zoom.move_to(result.zoom.data());
    result.kept += part.kept;
    result.above += part.above;
    result.bad += part.bad;
  }
  result.tau = threshold(result, n, rule);
  return result;
}

}  // namespace

MovingResult moving_average(std::span<float> ma, std::span<const float> g,
                            std::span<std::uint32_t> mask, const MovingRule& rule,
                            Workers& workers) {
  return run(ma, g, mask, rule, workers);
}

MovingResult moving_average(std::span<Bf16> ma, std::span<const float> g,
                            std::span<std::uint32_t> mask, const MovingRule& rule,
                            Workers& workers) {
  return run(ma, g, mask, rule, workers);
}

}  // namespace hearsay::kernels
