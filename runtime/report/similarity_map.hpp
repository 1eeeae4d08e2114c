// SPDX-License-Identifier: Apache-2.0
// A square of distances in shades: rows and columns in one order, darker is nearer. Large pools are
// averaged to kMostCells a side, and what has one shade is one path, so that a drawing has a
// bounded size. Pure. Cost: O(n^2).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "clustering/distances.hpp"
#include "runtime/report/run_facts.hpp"
#include "runtime/report/svg.hpp"

namespace hearsay::runtime::report {

inline constexpr std::size_t kMostCells = 64;  // a side
inline constexpr int kShades = 8;              // page.css: lv0, far, to lv7, near

// Which distances are darkest and lightest, over all maps of a figure.
struct ShadeRange {
  double near = 0.0, far = 1.0;
  void add(const clustering::Distances& distances);
  bool empty() const { return is_empty; }
  int shade(double distance) const;  // -1: not known
  bool is_empty = true;
};

struct MapPlace {
  double x = 0.0, y = 0.0, side = 0.0;
};

class SimilarityMap {
 public:
  SimilarityMap(const clustering::Distances& distances, std::span<const PeerIndex> order);

  std::size_t cells() const { return cells_; }          // a side
  std::size_t peers_a_cell() const { return stride_; }  // a side, too
  double at(std::size_t row, std::size_t column) const { return values_[row * cells_ + column]; }
  // Shades only; a pool of up to kMostTitles gets a mark a pair, named by `facts`.
  void draw(const ShadeRange& range, const MapPlace& place, const RunFacts* facts,
            Drawing& d) const;

 private:
  static constexpr std::size_t kMostTitles = 24;
  std::vector<PeerIndex> order_;
  std::size_t stride_ = 1, cells_ = 0;
  std::vector<double> values_;  // mean distance of a cell's pairs; +inf: none is known
};

}  // namespace hearsay::runtime::report
