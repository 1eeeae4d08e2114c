// SPDX-License-Identifier: Apache-2.0
// A moving average of magnitudes and the threshold over which its largest `keep` values lie, in one
// pass a step. Agreement class D0: ma, mask, counts and threshold are the same on CPU and GPU.
//
//   ma = beta * ma + (1 - beta) * |g|, or g^2        fp32, each operation rounded
//   tau: from the histograms of this step. Inside the window [0.8, 1.25] x last tau there are 1024
//        linear bins, and tau is interpolated in one of them: off by at most that bin's share of
//        ranks. A step that leaves the window takes a coarse bin (12.5 % wide) and the next one is
//        fine again.
// A value whose new average is not finite is left as it is and counted in `bad`. bf16 averages are
// stored at random (Philox of (seed; index / 8, step)): rounded to nearest they would stand still.
// Bytes a value: 12 for fp32 ma, 8 for bf16 ma, + 1/8 with a mask.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/core/workers.hpp"
#include "kernels/ops/moving_average_math.hpp"

namespace hearsay::kernels {

struct MovingRule {
  float beta = 0.9f;
  bool is_squared = false;           // g^2 instead of |g|
  std::uint64_t seed = 0, step = 0;  // for bf16
  std::uint64_t keep = 1;            // rank of the threshold, cut to 1 .. n
  float last_tau = 0.0f;             // 0: none yet
};

struct MovingResult {
  float tau = 0.0f;         // for the next step
  std::uint64_t kept = 0;   // averages >= last_tau: kept / n is the fraction that it would keep
  std::uint64_t above = 0;  // averages beyond the window
  std::uint64_t bad = 0;
  std::array<std::uint64_t, kCoarseBins> coarse{};  // of all averages; counts sum to n
  std::array<std::uint64_t, kZoomBins> zoom{};
};

// ma and g: n values without overlap. mask: empty or (n + 31) / 32 words, bit i % 32 of word i / 32
// says ma[i] >= last_tau. Allocates about 48 KB a worker.
MovingResult moving_average(std::span<float> ma, std::span<const float> g,
                            std::span<std::uint32_t> mask, const MovingRule& rule,
                            Workers& workers);
MovingResult moving_average(std::span<Bf16> ma, std::span<const float> g,
                            std::span<std::uint32_t> mask, const MovingRule& rule,
                            Workers& workers);

}  // namespace hearsay::kernels
