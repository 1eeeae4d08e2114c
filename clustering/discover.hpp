// SPDX-License-Identifier: Apache-2.0
// All the way from sketches to communities: distances, tree, cut. The default asks whether there
// are communities at all: the best silhouette must reach 0.15 and exceed what noise of the same
// scale has (null_model.hpp); otherwise everybody is in one.
// Lane: any, pure. Cost: distances.hpp and agglomerate.hpp; nulls are drawn only where the
// silhouette is large enough to need them.
#pragma once

#include <cstdint>

#include "clustering/agglomerate.hpp"
#include "clustering/cut.hpp"
#include "clustering/distances.hpp"
#include "clustering/partition.hpp"

namespace hearsay::clustering {

enum class CutRule : std::uint8_t { calibrated, silhouette, gap, count, height };

struct Recipe {
  Metric metric = Metric::euclidean;
  Linkage linkage = Linkage::average;
  CutRule cut = CutRule::calibrated;
  SilhouetteRule rule;           // calibrated and silhouette
  std::uint32_t nulls = 20;      // calibrated
  std::uint64_t seed = 0;        // of the nulls
  double least_gap = kLeastGap;  // gap
  std::uint32_t count = 2;       // count
  double height = 0.0;           // height; squared under Ward's linkage
};

struct Discovery {
  Distances distances;
  Tree tree;
  Partition partition;
  double silhouette = 0.0;  // of `partition`, or of the best split where that was refused
  double null_limit = 0.0;  // what it had to exceed; 0 where no nulls were drawn
};

Discovery discover(Sketches sketches, const Recipe& recipe);

}  // namespace hearsay::clustering
