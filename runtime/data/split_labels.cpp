// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <tuple>

#include "kernels/core/errc.hpp"
#include "runtime/data/split.hpp"

namespace hearsay::runtime {
namespace {

struct Claim {
  std::uint32_t label = 0;
  std::uint32_t tie = 0;  // drawn anew for every peer
  std::vector<std::uint32_t> holders;
};

// Gives `peer` the k claims with the fewest holders.
void take(std::vector<Claim>& claims, std::uint32_t peer, std::size_t k, kernels::Rng& rng) {
  for (Claim& claim : claims) claim.tie = rng.next_u32();
  const auto key = [](const Claim& claim) {
    return std::tuple(claim.holders.size(), claim.tie, claim.label);
  };
  std::ranges::sort(claims, {}, key);
  for (std::size_t i = 0; i < k; ++i) claims[i].holders.push_back(peer);
}

}  // namespace

std::vector<Indices> split_labels(std::vector<Indices> by_class, std::uint32_t peers,
                                  std::uint64_t k, kernels::Rng& rng) {
  std::vector<Claim> claims;
  for (std::uint32_t c = 0; c < by_class.size(); ++c) {
    if (!by_class[c].empty()) claims.push_back({c, 0, {}});
  }
  if (k < 1 || k > claims.size()) {
    throw kernels::UsageError("--split labels:" + std::to_string(k) + ": the training set has " +
                              std::to_string(claims.size()) +
                              " labels; try labels:1 to labels:" + std::to_string(claims.size()));
  }
  for (std::uint32_t p = 0; p < peers; ++p) take(claims, p, static_cast<std::size_t>(k), rng);

  std::ranges::sort(claims, {}, &Claim::label);
  std::vector<Indices> shards(peers);
  for (const Claim& claim : claims) {
    Indices& indices = by_class[claim.label];
    const std::size_t holders = claim.holders.size();
    if (indices.size() < holders) {
      throw kernels::UsageError(
          "--split labels:" + std::to_string(k) + ": label " + std::to_string(claim.label) +
          " has " + std::to_string(indices.size()) + " examples for " + std::to_string(holders) +
          " holders; try fewer --peers or fewer labels");
    }
    rng.shuffle(indices);
    for (std::size_t h = 0; h < holders; ++h) {
      const auto begin = indices.begin();
      Indices& shard = shards[claim.holders[h]];
      shard.insert(shard.end(),
                   begin + static_cast<std::ptrdiff_t>(even_cut(indices.size(), holders, h)),
                   begin + static_cast<std::ptrdiff_t>(even_cut(indices.size(), holders, h + 1)));
    }
  }
  return shards;
}

}  // namespace hearsay::runtime
