// SPDX-License-Identifier: Apache-2.0
// What the sketches share on a CPU: draws of signs, and how they add up their chains on a CPU:
// workers fill one partial sum each for as many chains at a time, which are then added in the order
// of the chains in fp64.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "kernels/core/buffer.hpp"
#include "kernels/core/workers.hpp"
#include "kernels/cpu/philox_lanes.hpp"
#include "kernels/ops/sketch_math.hpp"

namespace hearsay::kernels {

#if defined(__x86_64__)
HS_AVX2 inline void draw_words_avx2(std::uint64_t seed, std::uint32_t chain, std::uint32_t run,
                                    std::uint32_t use, std::size_t count, std::uint32_t* words) {
  const PhiloxKeys keys = philox_keys(seed);
  const std::uint64_t low = std::uint64_t{chain} << 32, high = std::uint64_t{use} << 32 | run;
  for (std::size_t i = 0; i < count; i += 32) {
    __m256i out[4];
    philox_32_words(low + i / 4, high, keys, out);
    std::memcpy(words + i, out, sizeof(out));
  }
}
#endif

// words[i] = word i % 4 of sketch_words(seed, i / 4, chain, run, use); count is a multiple of 32.
inline void draw_words(std::uint64_t seed, std::uint32_t chain, std::uint32_t run,
                       std::uint32_t use, std::size_t count, std::uint32_t* words) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return draw_words_avx2(seed, chain, run, use, count, words);
#endif
  for (std::size_t i = 0; i < count; i += 4) {
    const PhiloxBlock block =
        sketch_words(seed, static_cast<std::uint32_t>(i / 4), chain, run, use);
    std::memcpy(words + i, block.word, sizeof(block.word));
  }
}

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
