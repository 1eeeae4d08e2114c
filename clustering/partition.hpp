// SPDX-License-Identifier: Apache-2.0
// Who belongs together, and how much two such opinions agree. Agreement does not depend on how
// parts are numbered: Rand index (0 to 1), adjusted Rand index (Hubert & Arabie 1985: 0 is chance,
// 1 is the same), normalised mutual information (by the mean of the entropies, 0 to 1). Where an
// index is 0 / 0 (one part against one part, singletons against singletons) it is 1.
// Lane: any, pure. Cost: O(n log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearsay::clustering {

struct Partition {
  std::vector<std::uint32_t> labels;  // [peer] 0 .. count - 1, numbered by first appearance
  std::uint32_t count = 0;

  bool operator==(const Partition&) const = default;
};

// The partition that these labels mean, whatever the numbers are.
Partition numbered(std::span<const std::uint32_t> labels);
std::vector<std::uint32_t> part_sizes(const Partition& partition);

struct Agreement {
  double rand = 1.0;
  double adjusted_rand = 1.0;
  double mutual_information = 1.0;  // normalised
};
// Both about the same peers.
Agreement agreement(const Partition& a, const Partition& b);

}  // namespace hearsay::clustering
