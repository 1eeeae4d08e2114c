// SPDX-License-Identifier: Apache-2.0
#include "gossip/votes.hpp"

#include <algorithm>
#include <bit>

namespace hearsay::gossip {

VoteTable::VoteTable(PeerId self, std::uint32_t peers)
    : self_(self),
      peers_(peers),
      age_limit_(2 * std::max(1u, static_cast<std::uint32_t>(
                                      std::bit_width(peers > 1 ? peers - 1 : 1u)))) {}

// Where the vote of `peer` is, or would be.
std::vector<Vote>::iterator VoteTable::place(PeerId peer) {
  return std::lower_bound(fresh_.begin(), fresh_.end(), peer,
                          [](const Vote& vote, PeerId id) { return vote.peer < id; });
}

void VoteTable::cast(bool converged) {
  const auto own = place(self_);
  const bool is_there = own != fresh_.end() && own->peer == self_;
  if (converged && !is_there) fresh_.insert(own, Vote{self_, 0});
  if (!converged && is_there) fresh_.erase(own);
}

void VoteTable::grow_older() {
  for (Vote& vote : fresh_) {
    if (vote.peer != self_) ++vote.age;
  }
  std::erase_if(fresh_, [&](const Vote& vote) { return vote.age > age_limit_; });
}

void VoteTable::learn(std::span<const Vote> votes) {
  for (const Vote& vote : votes) {
    if (vote.peer == self_ || vote.peer.value >= peers_ || vote.age > age_limit_) continue;
    const auto known = place(vote.peer);
    if (known != fresh_.end() && known->peer == vote.peer)
      known->age = std::min(known->age, vote.age);
    else
      fresh_.insert(known, vote);
  }
}

std::vector<Vote> VoteTable::youngest(std::size_t limit) const {
  std::vector<Vote> votes = fresh_;
  std::stable_sort(votes.begin(), votes.end(),
                   [](const Vote& a, const Vote& b) { return a.age < b.age; });
  if (votes.size() > limit) votes.resize(limit);
  return votes;
}

void VoteTable::state(Archive& archive) {
  archive("fresh", fresh_);
  if (!archive.loading()) return;
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    const bool in_order = i == 0 || fresh_[i - 1].peer < fresh_[i].peer;
    if (!in_order || fresh_[i].peer.value >= peers_ || fresh_[i].age > age_limit_)
      archive.fail("fresh", "a vote that cannot be");
  }
}

}  // namespace hearsay::gossip
