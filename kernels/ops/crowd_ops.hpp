// SPDX-License-Identifier: Apache-2.0
// Centres of a few models, coordinate by coordinate: what some of them send wrong moves the centre
// no further than the honest ones lie apart (Yin et al. 2018, arXiv 1803.01498). Exact: the result
// depends neither on the order of the models nor on SIMD width.
#pragma once

#include <cstddef>
#include <span>

namespace hearsay::kernels {

inline constexpr std::size_t kCrowdMost = 32;  // models at once: their tiles stay in the L1 cache

// out[i] = mean of models[.][i] without the `trim` lowest and highest. 1 to kCrowdMost models of n
// finite values each, 2 * trim < models; out: n values, overlaps none of them. Traffic: 4 B a value
// and model, + 4. Cost: sorts each column, models^2 / 2 compare-exchanges a value, vectorised.
void trimmed_mean(std::span<const std::span<const float>> models, std::size_t trim,
                  std::span<float> out);

// The middle value, or the mean of the two middle ones: trimmed_mean with the largest trim.
void coordinate_median(std::span<const std::span<const float>> models, std::span<float> out);

}  // namespace hearsay::kernels
