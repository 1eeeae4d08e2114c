// SPDX-License-Identifier: Apache-2.0
#include "gossip/selectors/selector.hpp"

#include <vector>

namespace hearsay::gossip {
namespace {

constexpr std::uint32_t kListDegree = 64;

}  // namespace

std::optional<Choice> Selector::choose(std::uint64_t started,
                                       const std::function<bool(PeerId)>& excluded,
                                       std::size_t excluded_count,
                                       std::span<const double> weights) {
  const std::uint32_t degree = topology_.degree(self_, started);
  if (degree == 0) return std::nullopt;
  const std::uint64_t position = rng_.position();
  if (weights.empty() && degree > kListDegree && excluded_count < degree / 2) {
    for (;;) {  // at least half of the neighbours are free: two tries on average at worst
      const PeerId candidate = topology_.neighbour(self_, started, rng_.below(degree));
      if (excluded(candidate)) continue;
      const auto pool = static_cast<std::uint32_t>(degree - excluded_count);
      return Choice{candidate, pool, 1.0 / pool, position};
    }
  }
  std::vector<PeerId> candidates;
  for (std::uint32_t i = 0; i < degree; ++i) {
    const PeerId candidate = topology_.neighbour(self_, started, i);
    if (!excluded(candidate)) candidates.push_back(candidate);
  }
  if (candidates.empty()) return std::nullopt;
  return draw(candidates, weights);
}

Choice Selector::draw(std::span<const PeerId> candidates, std::span<const double> weights) {
  const std::uint64_t position = rng_.position();
  const auto pool = static_cast<std::uint32_t>(candidates.size());
  double sum = 0.0;
  if (!weights.empty()) {
    for (const PeerId candidate : candidates) sum += weights[candidate.value];
  }
  if (!(sum > 0.0)) return Choice{candidates[rng_.below(pool)], pool, 1.0 / pool, position};
  double left = rng_.uniform() * sum;
  PeerId last = candidates.front();  // with a weight: rounding may leave a little at the end
  for (const PeerId candidate : candidates) {
    const double weight = weights[candidate.value];
    if (weight <= 0.0) continue;
    last = candidate;
    left -= weight;
    if (left < 0.0) break;
  }
  return Choice{last, pool, weights[last.value] / sum, position};
}

}  // namespace hearsay::gossip
