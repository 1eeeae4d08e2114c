// SPDX-License-Identifier: Apache-2.0
// What silhouette would sketches without communities have? As many Gaussian sketches with the norms
// of the centred ones are clustered in the same way, some 20 times. Calibrates against noise alone
// in all directions: sketches that differ in few directions by nature (one strong drift that all
// share in different measure) can still be split where no groups are.
// Lane: any, pure; the stream depends on the seed alone. Cost: that of the distances and the tree
// for each null: 2 ms for 16 peers, m = 1024. In large pools nulls have fewer dimensions than the
// sketches (64 at least), which makes their silhouettes larger and the test stricter: about 1 s at
// 1,024.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clustering/agglomerate.hpp"
#include "clustering/cut.hpp"
#include "clustering/distances.hpp"

namespace hearsay::clustering {

struct NullModel {
  Metric metric = Metric::euclidean;
  Linkage linkage = Linkage::average;
  SilhouetteRule rule;
  std::uint32_t nulls = 20;
  std::uint64_t seed = 0;
};

// Of the best split of each null, ascending. norms: one a peer; values: m.
std::vector<double> null_silhouettes(const NullModel& model, std::span<const double> norms,
                                     std::size_t values);

// The value below which a further null lies with probability `share`: at rank share (k + 1) of k
// ascending values, between two of them in proportion; the last one at most. +inf for none.
double upper_limit(std::span<const double> ascending, double share = 0.95);

}  // namespace hearsay::clustering
