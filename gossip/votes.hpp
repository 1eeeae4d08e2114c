// SPDX-License-Identifier: Apache-2.0
// The distributed vote on convergence: who says "my model has stopped moving", and how many merges
// ago they said so. Votes travel in frame headers and grow older by one at every merge of whoever
// carries them, so a vote that is no longer renewed dies out after 2 log2(n) merges. No
// coordinator. Memory and cost: O(votes that count), none in a pool that does not vote.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gossip/frame.hpp"

namespace hearsay::gossip {

class VoteTable {
 public:
  VoteTable(PeerId self, std::uint32_t peers);

  void cast(bool converged);                // own vote: renewed or withdrawn
  void grow_older();                        // call at every applied merge
  void learn(std::span<const Vote> votes);  // keeps the younger of two
  std::uint32_t fresh() const noexcept {    // votes young enough to count, own included
    return static_cast<std::uint32_t>(fresh_.size());
  }
  std::vector<Vote> youngest(
      std::size_t limit) const;  // for the next frame's header, youngest first

  void state(Archive& archive);
  std::uint32_t age_limit() const noexcept { return age_limit_; }

 private:
  std::vector<Vote>::iterator place(PeerId peer);

  PeerId self_;
  std::uint32_t peers_, age_limit_;
  std::vector<Vote> fresh_;  // by peer, none older than age_limit_
};

}  // namespace hearsay::gossip
