// SPDX-License-Identifier: Apache-2.0
// Agglomerative clustering by the nearest-neighbour chain (Murtagh 1983; Mullner 2011, arXiv
// 1109.2378): follow nearest neighbours until two are each other's, join them, go on.
//   single    nearest pair of members; strings peers into chains
//   complete  furthest pair; sensitive to one outlier
//   average   mean over the pairs (UPGMA); takes any distance
//   ward      growth of the squared error; takes SQUARED Euclidean distances and gives squared
//             heights
// Heights never fall from a part to what it is joined to, rounding included: an updated distance is
// kept above the smaller of the two it came from, which all four linkages promise. Equal distances
// are joined in the order of the peers. Parts that are +inf apart are joined at height +inf.
// Lane: any, pure. Cost: O(n^2) time, 8 n^2 B; about 10 ms for 1,024 peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clustering/distances.hpp"

namespace hearsay::clustering {

enum class Linkage : std::uint8_t { single, complete, average, ward };

// SciPy's linkage format: peers are 0 .. n - 1, merge i makes part n + i; a < b.
struct Merge {
  std::uint32_t a = 0, b = 0;
  double height = 0.0;
  std::uint32_t size = 0;  // peers in the new part
};

struct Tree {
  std::uint32_t peers = 0;
  std::vector<Merge> merges;  // peers - 1 of them, by rising height

  std::size_t finite_merges() const;  // the first of them; the others have height +inf
};

Tree agglomerate(const Distances& distances, Linkage linkage);

}  // namespace hearsay::clustering
