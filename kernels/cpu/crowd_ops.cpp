// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/crowd_ops.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kTile = 256;  // values of each model: 32 KiB of tiles at most

using Tile = std::array<float, kTile>;

void order(Tile& low, Tile& high, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float a = low[i], b = high[i];
    low[i] = b < a ? b : a;
    high[i] = b < a ? a : b;
  }
}

// Odd-even transposition: `count` rounds sort `count` rows, every column by itself.
void sort_columns(std::span<Tile> rows, std::size_t count) {
  for (std::size_t round = 0; round < rows.size(); ++round)
    for (std::size_t i = round % 2; i + 1 < rows.size(); i += 2) order(rows[i], rows[i + 1], count);
}

}  // namespace

void trimmed_mean(std::span<const std::span<const float>> models, std::size_t trim,
                  std::span<float> out) {
  const std::size_t rows = models.size();
  HS_CHECK(rows >= 1 && rows <= kCrowdMost && 2 * trim < rows);
  for (const auto& model : models) HS_CHECK(model.size() == out.size());
  std::array<Tile, kCrowdMost> tiles;
  const float share = 1.0f / static_cast<float>(rows - 2 * trim);
  for (std::size_t begin = 0; begin < out.size(); begin += kTile) {
    const std::size_t count = std::min(kTile, out.size() - begin);
    for (std::size_t row = 0; row < rows; ++row)
      std::copy_n(models[row].begin() + static_cast<std::ptrdiff_t>(begin), count,
                  tiles[row].begin());
    sort_columns(std::span(tiles).first(rows), count);
    Tile& sum = tiles[trim];
    for (std::size_t row = trim + 1; row < rows - trim; ++row)
      for (std::size_t i = 0; i < count; ++i) sum[i] += tiles[row][i];
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = sum[i] * share;
  }
}

void coordinate_median(std::span<const std::span<const float>> models, std::span<float> out) {
  HS_CHECK(!models.empty());
  trimmed_mean(models, (models.size() - 1) / 2, out);
}

}  // namespace hearsay::kernels
