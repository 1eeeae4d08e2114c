// SPDX-License-Identifier: Apache-2.0
// The fixed tree of sparse updates: the sum of a tile in strided lanes, the sum over tiles
// likewise.
#pragma once

#include <bit>
#include <span>

#include "kernels/ops/sparse_ops.hpp"

namespace hearsay::kernels {

// What one tile adds up. begin() for each tile, add() for its terms in order (u of position `at`).
class SparseSums {
 public:
  void begin() {
    for (double& lane : lanes_) lane = 0.0;
  }
  void add(std::size_t at, const SparseMove& move) {
    const double u = static_cast<double>(move.u);
    lanes_[at % kSparseLanes] += u * u;
    const std::uint32_t key = std::bit_cast<std::uint32_t>(move.u) & 0x7fffffffu;
    max_ = key > max_ ? key : max_;
    bad_ += move.is_bad ? 1 : 0;
  }
  void add_bad(std::uint64_t count) { bad_ += count; }
  void see_max(std::uint32_t key) { max_ = key > max_ ? key : max_; }
  double* lanes() { return lanes_; }
  double end() { return halved(lanes_); }
  std::uint32_t max_key() const { return max_; }
  std::uint64_t bad() const { return bad_; }

  static double over_tiles(std::span<const double> tiles) {
    double lanes[kSparseTopLanes] = {};
    for (std::size_t t = 0; t < tiles.size(); ++t) lanes[t % kSparseTopLanes] += tiles[t];
    return halved(lanes);
  }

 private:
  template <std::size_t kLanes>
  static double halved(double (&lanes)[kLanes]) {
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    return lanes[0];
  }

  double lanes_[kSparseLanes] = {};
  std::uint32_t max_ = 0;
  std::uint64_t bad_ = 0;
};

// Of all parts: the larger maximum, the sum of what was bad.
inline SparseStats sparse_stats(std::span<const double> tiles, std::span<const SparseSums> parts) {
  SparseStats stats;
  stats.update_sq = SparseSums::over_tiles(tiles);
  std::uint32_t max = 0;
  for (const SparseSums& part : parts) {
    max = part.max_key() > max ? part.max_key() : max;
    stats.bad += part.bad();
  }
  stats.update_max = std::bit_cast<float>(max);
  return stats;
}

}  // namespace hearsay::kernels
