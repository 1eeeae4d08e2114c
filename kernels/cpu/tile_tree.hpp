// SPDX-License-Identifier: Apache-2.0
// The CPU side of kernels/core/tile_tree.hpp. Accumulators lie in L1: a row adds to 1024 different
// ones, so that the compiler may vectorise what in a plain sum it must not.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "kernels/core/tile_tree.hpp"
#include "kernels/core/workers.hpp"

namespace hearsay::kernels {

struct alignas(64) TileSums {
  double at[kRowValues] = {};
};

// Adds up and clears.
double take_tile_sum(TileSums& sums);

// Over the sums of all tiles, in their order.
double sum_of_tiles(std::span<const double> tiles);

// kSums sums over n values. row(at, count, sums, part) adds values [at, at + count) of one row to
// the accumulators; `part` is the worker's number. Allocates 8 bytes per sum and 4096 values.
template <std::size_t kSums, typename Row>
std::array<double, kSums> sum_rows(std::size_t n, Workers& workers, const Row& row) {
  const std::size_t tiles = tiles_of(n);
  std::vector<double> tile_sums(kSums * tiles);
  for_tiles(workers, tiles, 1, [&](std::size_t begin, std::size_t end, std::size_t part) {
    TileSums sums[kSums];
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t tile_end = std::min(n, (tile + 1) * kTileValues);
      for (std::size_t at = tile * kTileValues; at < tile_end; at += kRowValues)
        row(at, std::min(kRowValues, tile_end - at), sums, part);
      for (std::size_t s = 0; s < kSums; ++s) tile_sums[s * tiles + tile] = take_tile_sum(sums[s]);
    }
  });
  std::array<double, kSums> totals;
  for (std::size_t s = 0; s < kSums; ++s)
    totals[s] = sum_of_tiles(std::span(tile_sums).subspan(s * tiles, tiles));
  return totals;
}

}  // namespace hearsay::kernels
