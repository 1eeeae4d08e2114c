// SPDX-License-Identifier: Apache-2.0
#include "gossip/votes.hpp"

#include <algorithm>
#include <bit>

namespace hearsay::gossip {

VoteTable::VoteTable(PeerId self, std::uint32_t peers)
    : self_(self),
      age_limit_(
          2 * std::max(1u, static_cast<std::uint32_t>(std::bit_width(peers > 1 ? peers - 1 : 1u)))),
      age_(peers, kNever) {}

void VoteTable::cast(bool converged) { age_[self_.value] = converged ? 0 : kNever; }

void VoteTable::grow_older() {
  for (std::uint32_t i = 0; i < age_.size(); ++i) {
    if (i == self_.value || age_[i] == kNever) continue;
    if (++age_[i] > age_limit_) age_[i] = kNever;
  }
}

void VoteTable::learn(std::span<const Vote> votes) {
  for (const Vote& vote : votes) {
    if (vote.peer == self_ || vote.peer.value >= age_.size() || vote.age > age_limit_) continue;
    age_[vote.peer.value] = std::min(age_[vote.peer.value], vote.age);
  }
}

std::uint32_t VoteTable::fresh() const {
  return static_cast<std::uint32_t>(
      std::count_if(age_.begin(), age_.end(), [](std::uint32_t age) { return age != kNever; }));
}

std::vector<Vote> VoteTable::youngest(std::size_t limit) const {
  std::vector<Vote> votes;
  for (std::uint32_t i = 0; i < age_.size(); ++i) {
    if (age_[i] != kNever) votes.push_back({PeerId(i), age_[i]});
  }
  std::stable_sort(votes.begin(), votes.end(),
                   [](const Vote& a, const Vote& b) { return a.age < b.age; });
  if (votes.size() > limit) votes.resize(limit);
  return votes;
}

}  // namespace hearsay::gossip
