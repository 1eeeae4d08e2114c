// SPDX-License-Identifier: Apache-2.0
// From a tree to communities. Merges at height +inf are never made: peers that nothing is known
// about stay alone, beside what the rule asks for.
//   height      merges up to a height are made. The height must be known beforehand
//   count       all but the last count - 1 finite merges are made. Finds that many in noise too
//   gap         cut at the greatest ratio between successive heights of the last 16 merges, if it
//               is 1.3 or more. Misled by one outlier, and blind under single linkage
//   silhouette  of the partitions into 2 .. min(8, n / 2) parts the one whose silhouette is best,
//               if it is 0.15 or more. Hidden by outliers that lie further off
//               than the communities do from each other
// Lane: any, pure. Cost: O(n) from a tree; silhouette O(n^2), 2 ms for 1,024 peers.
#pragma once

#include <cstdint>

#include "clustering/agglomerate.hpp"
#include "clustering/distances.hpp"
#include "clustering/partition.hpp"

namespace hearsay::clustering {

Partition cut_at_height(const Tree& tree, double height);
Partition cut_to_count(const Tree& tree, std::uint32_t count);

inline constexpr double kLeastGap = 1.3;
Partition cut_at_gap(const Tree& tree, double least_ratio = kLeastGap);

struct SilhouetteRule {
  std::uint32_t most = 8;        // communities
  std::uint32_t least_size = 2;  // a smaller part joins the community nearest in the mean
  double least = 0.15;           // below that: one community
};

struct Split {
  Partition partition;
  double silhouette = 0.0;  // of the best split that there was, also when it was not good enough
};

// `distances` are not squared, whatever the linkage. best_split does not ask for rule.least.
Split best_split(const Tree& tree, const Distances& distances, const SilhouetteRule& rule);
Split cut_by_silhouette(const Tree& tree, const Distances& distances, const SilhouetteRule& rule);

}  // namespace hearsay::clustering
