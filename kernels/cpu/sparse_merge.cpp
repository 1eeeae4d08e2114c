// SPDX-License-Identifier: Apache-2.0
// Lists meet in a work tile of 4096 weights whose sums stay in the L1 cache; each list is walked
// once, and each line of weights is read and written once however many lists touch it.
#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/cpu/sparse_sums.hpp"
#include "kernels/ops/select_math.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kWordBits = 64;

struct Tile {
  float sum[kSparseTile];
  float weight[kSparseTile];
  std::uint64_t present[kSparseTile / kWordBits];
};

// Adds the entries below `end` from `at` on; returns the first that is not.
std::uint64_t add_list(const SparseList& list, std::uint64_t at, std::uint64_t stop,
                       std::size_t begin, std::size_t end, Tile& tile, SparseSums& sums) {
  for (; at < stop && list.index[at] < end; ++at) {
    const std::size_t i = list.index[at] - begin;
    const float x = list.weight * list.value[at];
    if (!is_finite_value(x)) {
      sums.skip_bad();
      continue;
    }
    std::uint64_t& word = tile.present[i / kWordBits];
    const std::uint64_t bit = std::uint64_t{1} << (i % kWordBits);
    const bool is_first = (word & bit) == 0;
    tile.sum[i] = is_first ? x : tile.sum[i] + x;
    tile.weight[i] = is_first ? list.weight : tile.weight[i] + list.weight;
    word |= bit;
  }
  return at;
}

struct Move {
  MergeNorm norm;
  SparseKind kind;
  float alpha;
};

// Moves the weights that are present; returns their number and forgets them.
std::uint64_t apply(const Move& how, float* w, Tile& tile, SparseSums& sums) {
  std::uint64_t touched = 0;
  for (std::size_t k = 0; k < kSparseTile / kWordBits; ++k) {
    for (std::uint64_t word = tile.present[k]; word != 0; word &= word - 1) {
      const std::size_t i = k * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
      const float x =
          how.norm == MergeNorm::kPresentWeight ? tile.sum[i] / tile.weight[i] : tile.sum[i];
      const SparseMove move = sparse_move(how.kind, how.alpha, w[i], x);
      if (!move.is_bad) w[i] = move.w;
      sums.add(i, move);
      ++touched;
    }
    tile.present[k] = 0;
  }
  return touched;
}

}  // namespace

MergeTotals merge_lists(Workers& workers, std::span<float> w, std::span<const SparseList> lists,
                        MergeNorm norm, SparseKind kind, float alpha) {
  HS_CHECK(lists.size() <= kMostLists && w.size() <= 0xffffffffu);
  const std::size_t wire_tiles = (w.size() + kSelectWireTile - 1) / kSelectWireTile;
  for (const SparseList& list : lists) {
    HS_CHECK(list.index.size() == list.value.size() && list.tile_begin.size() == wire_tiles + 1);
  }
  if (alpha == 0.0f || lists.empty() || w.empty()) return {};
  std::vector<SparseSums> parts(workers.count());
  std::vector<std::uint64_t> touched(workers.count());
  std::vector<double> partial((w.size() + kSparseTile - 1) / kSparseTile);
  for_tiles(
      workers, w.size(), kSelectWireTile, [&](std::size_t from, std::size_t to, std::size_t part) {
        Tile tile;
        std::fill(std::begin(tile.present), std::end(tile.present), 0);
        std::vector<std::uint64_t> at(lists.size());
        for (std::size_t begin = from; begin < to; begin += kSparseTile) {
          const std::size_t end = std::min(to, begin + kSparseTile);
          const std::size_t wire = begin / kSelectWireTile;
          SparseSums& sums = parts[part];
          sums.begin();
          for (std::size_t s = 0; s < lists.size(); ++s) {
            if (begin % kSelectWireTile == 0) at[s] = lists[s].tile_begin[wire];
            at[s] =
                add_list(lists[s], at[s], lists[s].tile_begin[wire + 1], begin, end, tile, sums);
          }
          touched[part] += apply({norm, kind, alpha}, w.data() + begin, tile, sums);
          partial[begin / kSparseTile] = sums.end();
        }
      });
  MergeTotals totals{sparse_stats(partial, parts), 0};
  for (const std::uint64_t each : touched) totals.touched += each;
  return totals;
}

}  // namespace hearsay::kernels
