// SPDX-License-Identifier: Apache-2.0
// How the sketches add up their chains on a CPU: workers fill one partial sum each for as many
// chains at a time, which are then added in the order of the chains in fp64.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "kernels/core/buffer.hpp"
#include "kernels/core/workers.hpp"
#include "kernels/ops/sketch_math.hpp"

namespace hearsay::kernels {

// sums[i] = sum over chains of what fill(chain, part) put into part[i]. Only chains that have a
// tile.
inline std::vector<double> sum_of_chains(
    std::size_t tiles, std::size_t values, Workers& workers,
    const std::function<void(std::uint32_t, std::span<float>)>& fill) {
  const auto chains = static_cast<std::uint32_t>(std::min<std::size_t>(tiles, kSketchChains));
  const std::size_t abreast = std::min<std::size_t>(workers.count(), std::max(chains, 1u));
  Buffer<float> parts(abreast * values);
  std::vector<double> sums(values, 0.0);
  for (std::uint32_t first = 0; first < chains; first += static_cast<std::uint32_t>(abreast)) {
    const std::size_t filled = std::min<std::size_t>(abreast, chains - first);
    workers.run([&](std::size_t part) {
      if (part >= filled) return;
      const std::span<float> own = parts.span().subspan(part * values, values);
      std::fill(own.begin(), own.end(), 0.0f);
      fill(first + static_cast<std::uint32_t>(part), own);
    });
    for (std::size_t part = 0; part < filled; ++part) {
      const float* const own = parts.data() + part * values;
      for (std::size_t i = 0; i < values; ++i) sums[i] += static_cast<double>(own[i]);
    }
  }
  return sums;
}

}  // namespace hearsay::kernels
