// SPDX-License-Identifier: Apache-2.0
#include "gossip/selectors/selector.hpp"

#include <vector>

namespace hearsay::gossip {
namespace {

constexpr std::uint32_t kListDegree = 64;

}  // namespace

std::optional<Choice> Selector::choose(std::uint64_t started,
                                       const std::function<bool(PeerId)>& excluded,
                                       std::size_t excluded_count) {
  const std::uint32_t degree = topology_.degree(self_, started);
  if (degree == 0) return std::nullopt;
  const std::uint64_t position = rng_.position();
  if (degree > kListDegree && excluded_count < degree / 2) {
    for (;;) {  // at least half of the neighbours are free: two tries on average at worst
      const PeerId candidate = topology_.neighbour(self_, started, rng_.below(degree));
      if (excluded(candidate)) continue;
      return Choice{candidate, static_cast<std::uint32_t>(degree - excluded_count), position};
    }
  }
  std::vector<PeerId> candidates;
  for (std::uint32_t i = 0; i < degree; ++i) {
    const PeerId candidate = topology_.neighbour(self_, started, i);
    if (!excluded(candidate)) candidates.push_back(candidate);
  }
  if (candidates.empty()) return std::nullopt;
  const auto pool = static_cast<std::uint32_t>(candidates.size());
  return Choice{candidates[rng_.below(pool)], pool, position};
}

}  // namespace hearsay::gossip
