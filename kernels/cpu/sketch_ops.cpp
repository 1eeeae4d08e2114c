// SPDX-License-Identifier: Apache-2.0
// Four tiles of a chain are added at once, so that sums and signs pass through L2 once for four
// values read. Between the places where a rotation wraps, all four are read straight on. The order
// of additions is that of one tile after the other.
#include "kernels/ops/sketch_ops.hpp"

#include <algorithm>

#include "kernels/core/check.hpp"
#include "kernels/cpu/chains.hpp"
#include "kernels/cpu/clones.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kAbreast = 4;

using Words = std::uint32_t __attribute__((vector_size(32), may_alias, aligned(4)));
using Floats = float __attribute__((vector_size(32), may_alias, aligned(4)));

struct Tile {
  const float* values = nullptr;  // m of them
  SketchPlace place{};
  std::uint32_t visit = 0;
};

// Lane l gets what lane order[l] had. One instruction with AVX2.
inline __attribute__((always_inline)) void permute(Words& x, const Words& order) {
#if __has_builtin(__builtin_shuffle)
  x = __builtin_shuffle(x, order);
#else
  const Words from = x;
  for (std::size_t l = 0; l < 8; ++l) x[l] = from[order[l]];
#endif
}

// Adds eights [begin, end) of the buckets; from[t] is the eight of tile t for bucket eight `begin`.
template <std::size_t kTiles>
HS_CLONES void add_eights(std::size_t begin, std::size_t end, const float* const* from,
                          const Tile* tiles, const std::uint32_t* signs, float* sums) {
  Words order[kTiles];
  for (std::size_t t = 0; t < kTiles; ++t) {
    for (std::uint32_t l = 0; l < 8; ++l) order[t][l] = l ^ tiles[t].place.swap;
  }
  for (std::size_t e = begin; e < end; ++e) {
    const Words word = *reinterpret_cast<const Words*>(signs + 8 * e);
    Floats sum = *reinterpret_cast<const Floats*>(sums + 8 * e);
    for (std::size_t t = 0; t < kTiles; ++t) {
      Words x = *reinterpret_cast<const Words*>(from[t] + 8 * (e - begin));
      permute(x, order[t]);
      const Words sign = (word << (31u - tiles[t].visit % kSketchRun)) & 0x80000000u;
      sum += reinterpret_cast<Floats>(x ^ sign);
    }
    *reinterpret_cast<Floats*>(sums + 8 * e) = sum;
  }
}

template <std::size_t kTiles>
void add_tiles(std::size_t eights, const Tile* tiles, const std::uint32_t* signs, float* sums) {
  std::size_t cuts[kTiles + 2];
  std::size_t count = 0;
  cuts[count++] = 0;
  for (std::size_t t = 0; t < kTiles; ++t) cuts[count++] = tiles[t].place.turn;
  cuts[count++] = eights;
  std::sort(cuts, cuts + count);
  for (std::size_t c = 0; c + 1 < count; ++c) {
    if (cuts[c] == cuts[c + 1]) continue;
    const float* from[kTiles];
    for (std::size_t t = 0; t < kTiles; ++t) {
      const std::size_t turn = tiles[t].place.turn;
      from[t] = tiles[t].values + 8 * (cuts[c] >= turn ? cuts[c] - turn : cuts[c] + eights - turn);
    }
    add_eights<kTiles>(cuts[c], cuts[c + 1], from, tiles, signs, sums);
  }
}

class Chain {
 public:
  Chain(const SketchPlan& plan, std::span<const float> x, std::uint32_t chain)
      : plan_(plan), x_(x), chain_(chain), signs_(sketch_values(plan)), last_(plan.buckets) {}

  void add_to(std::span<float> sums) {
    const std::size_t m = plan_.buckets, tiles = (x_.size() + m - 1) / m;
    const auto visits =
        static_cast<std::uint32_t>((tiles - chain_ + kSketchChains - 1) / kSketchChains);
    for (std::uint32_t k = 0; k < visits; k += kAbreast) {
      if (k % kSketchRun == 0) begin_run(k / kSketchRun);
      Tile few[kAbreast];
      const std::uint32_t count = std::min<std::uint32_t>(kAbreast, visits - k);
      for (std::uint32_t t = 0; t < count; ++t) few[t] = tile_at(k + t);
      for (std::uint32_t row = 0; row < plan_.rows; ++row) {
        const std::uint32_t* const signs = signs_.data() + row * m;
        float* const own = sums.data() + row * m;
        if (count == kAbreast) {
          add_tiles<kAbreast>(m / 8, few, signs, own);
        } else {
          for (std::uint32_t t = 0; t < count; ++t) add_tiles<1>(m / 8, few + t, signs, own);
        }
      }
    }
  }

 private:
  void begin_run(std::uint32_t run) {
    for (std::uint32_t row = 0; row < plan_.rows; ++row)
      draw_words(plan_.seed, chain_, run, static_cast<std::uint32_t>(SketchUse::row) + row,
                 plan_.buckets, signs_.data() + std::size_t{row} * plan_.buckets);
  }

  Tile tile_at(std::uint32_t visit) {
    const std::size_t m = plan_.buckets, begin = (std::size_t{visit} * kSketchChains + chain_) * m;
    const PhiloxBlock block = sketch_words(plan_.seed, visit, chain_, 0,
                                           static_cast<std::uint32_t>(SketchUse::placement));
    Tile tile{x_.data() + begin, sketch_place(block.word[0], plan_.buckets / 8), visit};
    if (x_.size() - begin < m) {  // the last one, filled up with zeros
      std::copy(x_.begin() + static_cast<std::ptrdiff_t>(begin), x_.end(), last_.data());
      tile.values = last_.data();
    }
    return tile;
  }

  const SketchPlan& plan_;
  std::span<const float> x_;
  std::uint32_t chain_;
  Buffer<std::uint32_t> signs_;
  Buffer<float> last_;
};

}  // namespace

bool is_valid(const SketchPlan& plan) {
  return plan.buckets >= 1024 && plan.buckets <= 65536 && plan.buckets % 1024 == 0 &&
         plan.rows >= 1 && plan.rows <= 4;
}

void sketch(const SketchPlan& plan, std::span<const float> x, std::span<float> y,
            Workers& workers) {
  HS_CHECK(is_valid(plan) && y.size() == sketch_values(plan));
  const std::size_t tiles = x.size() / plan.buckets + (x.size() % plan.buckets != 0);
  const auto sums = sum_of_chains(
      tiles, y.size(), workers,
      [&](std::uint32_t chain, std::span<float> part) { Chain(plan, x, chain).add_to(part); });
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(sums[i]);
}

double sketch_dot(const SketchPlan& plan, std::span<const float> a, std::span<const float> b) {
  HS_CHECK(is_valid(plan) && a.size() == sketch_values(plan) && b.size() == a.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum / plan.rows;
}

}  // namespace hearsay::kernels
