// SPDX-License-Identifier: Apache-2.0
// How well a partition fits distances (Rousseeuw 1987): for each peer a = mean distance to the
// others of its own part, b = least mean distance to another part, (b - a) / max(a, b); the mean
// over the peers, -1 to 1. Peers alone in their part count 0; isolated peers do not count. 0 for
// fewer than two parts. Compares parts of any shape badly: it likes balls.
// Lane: any, pure. Cost: O(n^2 + n parts).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clustering/distances.hpp"
#include "clustering/partition.hpp"

namespace hearsay::clustering {

// Sums of the distances of every peer to every part; isolated peers are in no part. Parts may be
// united without looking at the distances again.
struct PartSums {
  std::vector<std::uint32_t> part;   // [peer] kNoPart if isolated
  std::vector<std::uint32_t> sizes;  // [part]
  std::vector<double> sums;          // [peer * parts + part]
};
inline constexpr std::uint32_t kNoPart = ~std::uint32_t{0};

PartSums part_sums(const Distances& distances, const Partition& partition);

// The mean over the peers when part p belongs to group groups[p] < count.
double silhouette(const PartSums& sums, std::span<const std::uint32_t> groups, std::uint32_t count);
double silhouette(const Distances& distances, const Partition& partition);

}  // namespace hearsay::clustering
