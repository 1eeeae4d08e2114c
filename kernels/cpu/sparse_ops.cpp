// SPDX-License-Identifier: Apache-2.0
// Scatter in ascending order. Each weight costs a cache miss at low densities, so lines are asked
// for some entries ahead: two to three times faster than without.
#include "kernels/ops/sparse_ops.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/sparse_sums.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kAhead = 32;  // entries between the request for a line and its use

// How many neighbours are not in order. No early exit: that would not vectorise, and bad input is
// rare.
HS_CLONES std::uint32_t disorder(std::size_t n, const std::uint32_t* index) {
  std::uint32_t wrong = 0;
  for (std::size_t i = 1; i < n; ++i) wrong |= static_cast<std::uint32_t>(index[i - 1] >= index[i]);
  return wrong;
}

struct Entries {
  std::span<float> w;
  std::span<const std::uint32_t> id;
  const float* value = nullptr;
  SparseKind kind = SparseKind::kDelta;
  float alpha = 0.0f;
};

// Entries [begin, end) of one tile.
double scatter_tile(const Entries& all, std::size_t begin, std::size_t end, SparseSums& sums) {
  const std::size_t last = all.id.size() - 1;
  sums.begin();
  for (std::size_t j = begin; j < end; ++j) {
    __builtin_prefetch(&all.w[all.id[std::min(j + kAhead, last)]], 1);
    float& w = all.w[all.id[j]];
    const SparseMove move = sparse_move(all.kind, all.alpha, w, all.value[j]);
    if (!move.is_bad) w = move.w;
    sums.add(j, move);
  }
  return sums.end();
}

struct BlockMove {
  std::uint32_t bad = 0, max_key = 0;
};

// One whole block, eight values at a time; lanes: from that of its first value on.
HS_CLONES BlockMove move_block(SparseKind kind, float alpha, std::size_t block, float* __restrict w,
                               const float* __restrict value, double* __restrict lanes) {
  std::uint32_t bad[8] = {}, max_key[8] = {};
  for (std::size_t at = 0; at < block; at += 8) {
    for (std::size_t l = 0; l < 8; ++l) {
      const SparseMove move = sparse_move(kind, alpha, w[at + l], value[at + l]);
      w[at + l] = move.w;
      lanes[at + l] += static_cast<double>(move.u) * static_cast<double>(move.u);
      const std::uint32_t key = std::bit_cast<std::uint32_t>(move.u) & 0x7fffffffu;
      max_key[l] = key > max_key[l] ? key : max_key[l];
      bad[l] += static_cast<std::uint32_t>(move.is_bad);
    }
  }
  BlockMove all;
  for (std::size_t l = 0; l < 8; ++l) {
    all.bad += bad[l];
    all.max_key = std::max(all.max_key, max_key[l]);
  }
  return all;
}

double block_tile(const Entries& all, std::size_t block, std::size_t begin, std::size_t end,
                  SparseSums& sums) {
  const std::size_t last = all.id.size() - 1;
  sums.begin();
  for (std::size_t b = begin / block; b < end / block; ++b) {
    const float* const next =
        all.w.data() + std::size_t{all.id[std::min(b + kAhead, last)]} * block;
    __builtin_prefetch(next, 1);
    if (block == 32) __builtin_prefetch(next + 16, 1);
    const std::size_t first = std::size_t{all.id[b]} * block;
    const float* const value = all.value + b * block;
    if (first + block <= all.w.size()) {
      const BlockMove moved = move_block(all.kind, all.alpha, block, all.w.data() + first, value,
                                         sums.lanes() + b * block % kSparseLanes);
      sums.add_bad(moved.bad);
      sums.see_max(moved.max_key);
      continue;
    }
    for (std::size_t i = 0; first + i < all.w.size(); ++i) {  // the last block of w
      const SparseMove move = sparse_move(all.kind, all.alpha, all.w[first + i], value[i]);
      all.w[first + i] = move.w;
      sums.add(b * block + i, move);
    }
  }
  return sums.end();
}

}  // namespace

bool are_ascending(std::span<const std::uint32_t> index, std::size_t n) {
  if (index.empty()) return true;
  constexpr std::size_t kRun = 4096;
  for (std::size_t at = 0; at < index.size(); at += kRun) {  // runs overlap by one
    if (disorder(std::min(kRun + 1, index.size() - at), index.data() + at) != 0) return false;
  }
  return index.back() < n;
}

SparseStats sparse_ema(Workers& workers, std::span<float> w, std::span<const std::uint32_t> index,
                       std::span<const float> value, SparseKind kind, float alpha) {
  HS_CHECK(index.size() == value.size());
  if (alpha == 0.0f || index.empty()) return {};
  const Entries all{w, index, value.data(), kind, alpha};
  std::vector<SparseSums> parts(workers.count());
  std::vector<double> tiles((index.size() + kSparseTile - 1) / kSparseTile);
  for_tiles(workers, index.size(), kSparseTile,
            [&](std::size_t begin, std::size_t end, std::size_t part) {
              for (std::size_t at = begin; at < end; at += kSparseTile) {
                tiles[at / kSparseTile] =
                    scatter_tile(all, at, std::min(end, at + kSparseTile), parts[part]);
              }
            });
  return sparse_stats(tiles, parts);
}

SparseStats sparse_ema_blocks(Workers& workers, std::span<float> w,
                              std::span<const std::uint32_t> block_id, std::span<const float> value,
                              std::size_t block, SparseKind kind, float alpha) {
  HS_CHECK(block == 8 || block == 16 || block == 32);
  HS_CHECK(value.size() == block_id.size() * block);
  if (alpha == 0.0f || block_id.empty()) return {};
  const Entries all{w, block_id, value.data(), kind, alpha};
  std::vector<SparseSums> parts(workers.count());
  std::vector<double> tiles((value.size() + kSparseTile - 1) / kSparseTile);
  for_tiles(workers, value.size(), kSparseTile,
            [&](std::size_t begin, std::size_t end, std::size_t part) {
              for (std::size_t at = begin; at < end; at += kSparseTile) {
                tiles[at / kSparseTile] =
                    block_tile(all, block, at, std::min(end, at + kSparseTile), parts[part]);
              }
            });
  return sparse_stats(tiles, parts);
}

}  // namespace hearsay::kernels
