// SPDX-License-Identifier: Apache-2.0
// What a pool's peers have found out about who belongs together, at its end. Peers find their
// communities each on its own, so what the pool found is what most of them say. Pure functions.
// Cost: O(n) a peer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct PoolCommunities {
  std::uint32_t count = 0;            // in the partition that most peers found
  std::uint32_t agreed = 0;           // peers that found it
  std::vector<std::uint32_t> labels;  // [peer] in it, numbered by first appearance
  // Against the groups of a split with +rotate; none without.
  std::optional<double> rand_index, adjusted_rand_index;
};

// "0,0,1": [peer] its community; none for no labels.
std::optional<std::string> community_text(std::span<const std::uint32_t> labels);

// told: what each peer says (community_text), none of those that do not know; groups: [peer] of the
// split. None when nobody says anything that fits the pool. Of two partitions found by as many, the
// one that the first peer found.
std::optional<PoolCommunities> agreed_communities(std::span<const std::optional<std::string>> told,
                                                  std::span<const std::uint32_t> groups);

}  // namespace hearsay::runtime
