// SPDX-License-Identifier: Apache-2.0
// Lists meet in a work tile of 4096 weights whose sums stay in the L1 cache; each list is walked
// once, and each line of weights is read and written once however many lists touch it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/sparse_sums.hpp"
#include "kernels/ops/select_math.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kDense = 256;  // entries of a tile from which all its weights are walked

struct Tile {
  float sum[kMergeTile];     // -0 where nothing is present: -0 + x is x
  float weight[kMergeTile];  // likewise
  std::uint8_t present[kMergeTile];
  void clear() {
    std::fill(std::begin(sum), std::end(sum), -0.0f);
    std::fill(std::begin(weight), std::end(weight), -0.0f);
    std::fill(std::begin(present), std::end(present), std::uint8_t{0});
  }
};

// Adds the entries below `end` from `at` on; returns the first that is not.
std::uint64_t add_list(const SparseList& list, std::uint64_t at, std::uint64_t stop,
                       std::size_t begin, std::size_t end, Tile& tile, SparseSums& sums) {
  const std::uint32_t* const index = list.index.data();
  const float* const value = list.value.data();
  const float weight = list.weight;
  for (; at < stop && index[at] < end; ++at) {
    const std::size_t i = index[at] - begin;
    const float x = weight * value[at];
    if (!is_finite_value(x)) {
      sums.add_bad(1);
      continue;
    }
    tile.sum[i] += x;
    tile.weight[i] += weight;
    tile.present[i] = 1;
  }
  return at;
}

struct Move {
  MergeNorm norm;
  SparseKind kind;
  float alpha;
};

// Moves the weights that are present, looking for them; returns their number and forgets them.
std::uint64_t apply_few(const Move& how, float* w, Tile& tile, SparseSums& sums) {
  std::uint64_t touched = 0;
  for (std::size_t at = 0; at < kMergeTile; at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, tile.present + at, sizeof eight);
    for (; eight != 0; eight &= eight - 1) {
      const std::size_t i = at + static_cast<std::size_t>(std::countr_zero(eight)) / 8;
      const float x =
          how.norm == MergeNorm::kPresentWeight ? tile.sum[i] / tile.weight[i] : tile.sum[i];
      const SparseMove move = sparse_move(how.kind, how.alpha, w[i], x);
      if (!move.is_bad) w[i] = move.w;
      sums.add(i, move);
      tile.sum[i] = tile.weight[i] = -0.0f;
      tile.present[i] = 0;
      ++touched;
    }
  }
  return touched;
}

struct DenseMove {  // what the walk over all weights found
  std::uint32_t touched = 0, bad = 0, max_key = 0;
};

// The same, walking all n weights: adding the square of 0 leaves a lane as it was. Choices are
// masks of bits, because a branch keeps the compiler from vectorising.
template <SparseKind kKind>
[[gnu::always_inline]] inline DenseMove walk(float alpha, std::size_t n, float* __restrict w,
                                             const Tile* __restrict tile,
                                             double* __restrict lanes) {
  DenseMove found;
  for (std::size_t at = 0; at < n; at += kSparseLanes) {
    const std::size_t count = std::min(kSparseLanes, n - at);
    for (std::size_t l = 0; l < count; ++l) {
      const float old = w[at + l], x = tile->sum[at + l];
      const float u = alpha * (kKind == SparseKind::kDelta ? x : x - old), moved = old + u;
      const std::uint32_t there = tile->present[at + l];
      const std::uint32_t good = there & static_cast<std::uint32_t>(is_move_finite(u, moved));
      const std::uint32_t mask = 0u - good, bits = std::bit_cast<std::uint32_t>(u) & mask;
      w[at + l] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(moved) & mask) |
                                       (std::bit_cast<std::uint32_t>(old) & ~mask));
      const double exact = static_cast<double>(std::bit_cast<float>(bits));
      lanes[l] += exact * exact;
      found.max_key = std::max(found.max_key, bits & 0x7fffffffu);
      found.touched += there;
      found.bad += there - good;
    }
  }
  return found;
}

HS_CLONES DenseMove walk_delta(float alpha, std::size_t n, float* w, const Tile* tile,
                               double* lanes) {
  return walk<SparseKind::kDelta>(alpha, n, w, tile, lanes);
}

HS_CLONES DenseMove walk_absolute(float alpha, std::size_t n, float* w, const Tile* tile,
                                  double* lanes) {
  return walk<SparseKind::kAbsolute>(alpha, n, w, tile, lanes);
}

HS_CLONES void divide(Tile& tile) {
  for (std::size_t i = 0; i < kMergeTile; ++i) tile.sum[i] /= tile.weight[i];
}

std::uint64_t apply(const Move& how, std::size_t entries, std::span<float> w, Tile& tile,
                    SparseSums& sums) {
  const bool is_copy = how.kind == SparseKind::kAbsolute && how.alpha == 1.0f;
  if (entries < kDense || is_copy) return apply_few(how, w.data(), tile, sums);
  if (how.norm == MergeNorm::kPresentWeight) divide(tile);
  const auto walk_all = how.kind == SparseKind::kDelta ? walk_delta : walk_absolute;
  const DenseMove found = walk_all(how.alpha, w.size(), w.data(), &tile, sums.lanes());
  sums.see_max(found.max_key);
  sums.add_bad(found.bad);
  tile.clear();
  return found.touched;
}

// Weights [from, to), cut at wire tiles; `partial` holds the sums of all work tiles.
std::uint64_t merge_part(const Move& how, std::span<float> w, std::span<const SparseList> lists,
                         std::size_t from, std::size_t to, std::span<double> partial,
                         SparseSums& sums) {
  Tile tile;
  tile.clear();
  std::uint64_t at[kMostLists] = {}, touched = 0;
  for (std::size_t begin = from; begin < to; begin += kMergeTile) {
    const std::size_t end = std::min(to, begin + kMergeTile), wire = begin / kSelectWireTile;
    std::size_t entries = 0;
    sums.begin();
    for (std::size_t s = 0; s < lists.size(); ++s) {
      if (begin % kSelectWireTile == 0) at[s] = lists[s].tile_begin[wire];
      const std::uint64_t next =
          add_list(lists[s], at[s], lists[s].tile_begin[wire + 1], begin, end, tile, sums);
      entries += next - at[s];
      at[s] = next;
    }
    touched += apply(how, entries, w.subspan(begin, end - begin), tile, sums);
    partial[begin / kMergeTile] = sums.end();
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
  std::vector<double> partial((w.size() + kMergeTile - 1) / kMergeTile);
  for_tiles(
      workers, w.size(), kSelectWireTile, [&](std::size_t from, std::size_t to, std::size_t part) {
        touched[part] = merge_part({norm, kind, alpha}, w, lists, from, to, partial, parts[part]);
      });
  MergeTotals totals{sparse_stats(partial, parts), 0};
  for (const std::uint64_t each : touched) totals.touched += each;
  return totals;
}

}  // namespace hearsay::kernels
