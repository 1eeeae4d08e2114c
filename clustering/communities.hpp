// SPDX-License-Identifier: Apache-2.0
// Communities over time, with labels that last. Each round proposes a partition; communities keep
// the label of those they overlap most (assignment.hpp), new ones get a number never used before.
// Two kinds of inertia, so that noise does not make peers change partners:
//   of the partition  a proposal counts only if its silhouette is 0.02 better than that of the
//                     present labels on the same distances, or if the two agree (adjusted Rand
//                     index above 0.8). One community counts as 0.15, what a split must have to be
//                     believed, but only as 0.03 against communities that there are: directions
//                     are most unlike at the beginning, and who has parted for that reason must
//                     not come together because the difference has been learned
//   of a peer         it moves when, in two successive proposals that count, it was placed in the
//                     same other community and was nearer to it by 10 %: mean distance to its
//                     members against that to the members of the old one. No question of distance
//                     where the old community is gone. Nobody moves away to be alone
// The first proposal is taken as it is. A peer that nothing is known about keeps its label.
// What is missing: a true change shows after two rounds; slow drift can lag behind for longer.
// Lane: that of its owner. Cost: O(n^2) a round, 6 ms for 1,024 peers; 12 B a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clustering/distances.hpp"
#include "clustering/partition.hpp"

namespace hearsay::clustering {

struct Inertia {
  double least_gain = 0.02;      // of the silhouette
  double least_agreement = 0.8;  // adjusted Rand index above which a proposal counts anyway
  double nearer = 0.9;           // a peer moves at this share of the old distance
  std::uint32_t rounds = 2;      // in succession
  double one_community = 0.15;   // the silhouette that one community counts as
  double given_up = 0.03;        // and when there are several
};

// Everything that lasts, as plain data: to be kept and taken up again.
struct CommunitiesState {
  std::vector<std::uint32_t> labels;   // [peer] where it is
  std::vector<std::uint32_t> targets;  // [peer] where the last proposal put it
  std::vector<std::uint32_t> streaks;  // [peer] rounds in which it would have moved there
  std::uint32_t next_label = 0;        // labels below it have been used
  std::uint64_t rounds = 0, accepted = 0, moves = 0;  // proposals, those that counted, peers moved

  bool operator==(const CommunitiesState&) const = default;
};

// The proposal, compared with the labels before it; peers that nothing is known about left out.
struct Round {
  bool accepted = true;
  std::uint32_t moved = 0;
  double present_silhouette = 0.0, proposed_silhouette = 0.0;
  Agreement agreement;
};

class Communities {
 public:
  explicit Communities(std::size_t peers, const Inertia& inertia = {});

  // Distances not squared, of as many peers.
  Round update(const Partition& proposed, const Distances& distances);

  std::size_t peers() const noexcept { return peers_; }
  std::uint32_t label(std::size_t peer) const { return state_.labels[peer]; }
  std::span<const std::uint32_t> labels() const noexcept { return state_.labels; }
  std::uint32_t size(std::uint32_t label) const;  // peers that have it
  Partition partition() const { return numbered(state_.labels); }

  const CommunitiesState& state() const noexcept { return state_; }
  bool restore(const CommunitiesState& state);  // false, and nothing changed, when it is not of us

 private:
  void judge(const Partition& proposed, const Distances& distances, Round& round) const;
  std::vector<std::uint32_t> matched_labels(const Partition& proposed,
                                            std::span<const std::uint32_t> known) const;
  std::uint32_t move_peers(const Partition& proposed, const Distances& distances,
                           std::span<const std::uint32_t> known);

  std::size_t peers_;
  Inertia inertia_;
  CommunitiesState state_;
};

}  // namespace hearsay::clustering
