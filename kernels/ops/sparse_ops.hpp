// SPDX-License-Identifier: Apache-2.0
// Merges of sparse records into flat fp32 weights. Agreement class: exact; sums of squares follow
// one tree (256 entries, or 4096 weights of a merge in 256 strided lanes, by halving), so threads
// and grids do not change a bit. Indices are validated by a function of their own before anything
// is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/workers.hpp"
#include "kernels/ops/sparse_math.hpp"

namespace hearsay::kernels {

struct SparseStats {
  double update_sq = 0.0;   // sum u^2 in fp64
  float update_max = 0.0f;  // largest |u|
  std::uint64_t bad = 0;    // entries skipped because u or the new weight is not finite
};

// Strictly ascending, all below n? Traffic: 4 B an entry.
bool are_ascending(std::span<const std::uint32_t> index, std::size_t n);

// w[index[j]] moves by value[j] (kDelta: += alpha * value; kAbsolute: += alpha * (value - w)).
// Indices are ascending and below w.size(). alpha = 0 does nothing. Traffic: 8 B an entry and both
// ways the cache line of every weight touched.
SparseStats sparse_ema(Workers& workers, std::span<float> w, std::span<const std::uint32_t> index,
                       std::span<const float> value, SparseKind kind, float alpha);

// The same for aligned blocks of `block` = 8, 16 or 32 weights: block_id ascending and below
// ceil(n / block), value: `block` a block; those beyond the end of w are ignored.
SparseStats sparse_ema_blocks(Workers& workers, std::span<float> w,
                              std::span<const std::uint32_t> block_id, std::span<const float> value,
                              std::size_t block, SparseKind kind, float alpha);

// One record of select_ops: entries of wire tile t are tile_begin[t] .. tile_begin[t + 1].
struct SparseList {
  std::span<const std::uint32_t> index;
  std::span<const float> value;
  std::span<const std::uint64_t> tile_begin;  // ceil(n / 65536) + 1
  float weight = 1.0f;
};

struct MergeTotals {
  SparseStats stats;          // bad: contributions weight * value that are not finite, and moves
  std::uint64_t touched = 0;  // weights that at least one finite contribution reached
};

// For each weight that some list carries: x = sum of weight * value in the order of the lists
// (kPresentWeight: divided by the sum of the weights of the lists that carry it), then one move by
// x as in sparse_ema. At most kMostLists lists. Traffic: 8 B an entry and both ways each line
// touched, once.
inline constexpr std::size_t kMostLists = 32;
MergeTotals merge_lists(Workers& workers, std::span<float> w, std::span<const SparseList> lists,
                        MergeNorm norm, SparseKind kind, float alpha);

}  // namespace hearsay::kernels
