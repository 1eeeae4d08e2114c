// SPDX-License-Identifier: Apache-2.0
// Who owns which training examples: a pure function of (labels, spec, peers, seed), so that every
// process of a pool computes the same split on its own. The splits and modifiers of `--split`:
//   iid            shuffled; sizes differ by at most 1
//   dirichlet:b    of each class peer k gets the share q_k, q ~ Dir(b, ..., b) (see split.hpp)
//   labels:k       every peer holds exactly k labels (see split.hpp)
//   +rotate:groups=G,by=B   peers in G equal groups of neighbours; labels of group g are shifted by
//                           g * B mod classes
//   +noise:10%     that share of each shard's training labels is replaced by wrong ones
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/dataset.hpp"

namespace hearsay::runtime {

struct Partition {
  std::string spec;
  // [peer] -> indices into the training set, each set in rising order.
  std::vector<std::vector<std::uint32_t>> owned;
  std::vector<std::uint32_t> group;  // [peer] -> group of `+rotate` (0 without it)
  std::uint32_t rotate_by = 0;       // labels of group g are shifted by g * rotate_by mod classes
  double noise_share = 0.0;          // share of each shard's training labels that are wrong
};

// Throws UsageError when the spec is unknown, the pool has more peers than examples, or a shard
// would hold fewer than kMinShardExamples examples.
Partition make_partition(const std::string& spec, std::span<const std::uint8_t> labels,
                         std::uint32_t classes, std::uint32_t peers, std::uint64_t seed);

inline constexpr std::size_t kMinShardExamples = 10;  // NIID-Bench rule (arXiv 2102.02079)

// Which variant of the named split this is, in one line for people: papers use the same words for
// different rules.
std::string describe_variant(const std::string& spec);

// The examples of one peer, copied out (rotation and noise applied to the labels): all that a peer
// keeps in memory.
ImageSet make_shard(const ImageSet& train, const Partition& partition, std::uint32_t peer,
                    std::uint64_t seed);

// The labels of that shard alone, in the same order.
std::vector<std::uint8_t> shard_labels(const ImageSet& train, const Partition& partition,
                                       std::uint32_t peer, std::uint64_t seed);

// [id] whether `+noise` has made this label wrong, for whoever measures how well that is noticed.
std::vector<std::uint8_t> wrong_labels(const ImageSet& train, const Partition& partition,
                                       std::uint64_t seed);

// How many of a shard's labels `+noise` makes wrong: the share of its size, rounded to the nearest.
std::size_t noisy_count(const Partition& partition, std::uint32_t peer);

// The label that the peer's group gives to class `label`: test sets are rotated as the own shard.
std::uint8_t rotated_label(const Partition& partition, std::uint32_t peer, std::uint8_t label,
                           std::uint32_t classes);

}  // namespace hearsay::runtime
