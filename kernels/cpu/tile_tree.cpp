// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tile_tree.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/clones.hpp"

namespace hearsay::kernels {
namespace {

HS_CLONES double sum_of_slots(double* slots) {
  double sum = 0.0;
  for (std::size_t tree = 0; tree < kTreeCount; ++tree) {
    double* x = slots + tree * kTreeWidth;
    for (std::size_t l = 0; l < 16; ++l) x[l] += x[l + 16];
    for (std::size_t l = 0; l < 8; ++l) x[l] += x[l + 8];
    for (std::size_t l = 0; l < 4; ++l) x[l] += x[l + 4];
    sum += (x[0] + x[2]) + (x[1] + x[3]);
  }
  return sum;
}

HS_CLONES void fold_quads(const double* at, double* slots) {
  for (std::size_t s = 0; s < kTreeSlots; ++s)
    slots[s] = (at[4 * s] + at[4 * s + 1]) + (at[4 * s + 2] + at[4 * s + 3]);
}

}  // namespace

double take_tile_sum(TileSums& sums) {
  alignas(64) double slots[kTreeSlots];
  fold_quads(sums.at, slots);
  std::memset(sums.at, 0, sizeof sums.at);
  return sum_of_slots(slots);
}

double sum_of_tiles(std::span<const double> tiles) {
  double total = 0.0;
  for (std::size_t first = 0; first < tiles.size(); first += kGroupTiles) {
    alignas(64) double slots[kTreeSlots] = {};
    const std::size_t count = std::min(kGroupTiles, tiles.size() - first);
    for (std::size_t i = 0; i < count; ++i) slots[i % kTreeSlots] += tiles[first + i];
    total += sum_of_slots(slots);
  }
  return total;
}

}  // namespace hearsay::kernels
