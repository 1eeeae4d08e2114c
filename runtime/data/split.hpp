// SPDX-License-Identifier: Apache-2.0
// The rules that deal examples to peers, one source file each. All take the examples sorted by
// class and return [peer] -> indices in any order; make_partition() checks shard sizes and sorts.
// No index is dealt twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/rng.hpp"

namespace hearsay::runtime {

using Indices = std::vector<std::uint32_t>;

// Cuts `count` examples into `parts` runs whose lengths differ by at most 1: run i begins at cut i
// and ends before cut i + 1.
inline std::size_t even_cut(std::size_t count, std::size_t parts, std::size_t i) {
  return static_cast<std::size_t>(std::uint64_t{count} * i / parts);
}

std::vector<Indices> split_iid(std::size_t examples, std::uint32_t peers, kernels::Rng& rng);

inline constexpr int kMaxRedraws = 1000;

// NIID-Bench's rule (Li et al. 2021, arXiv 2102.02079): for each class q ~ Dir(beta, ..., beta)
// over the peers, peer k gets share q_k of the class; the whole split is redrawn until every shard
// holds kMinShardExamples. Shard sizes differ as they fall (no cap). Throws UsageError after
// kMaxRedraws.
std::vector<Indices> split_dirichlet(std::vector<Indices> by_class, std::uint32_t peers,
                                     double beta, kernels::Rng& rng);

// Every peer holds exactly `k` of the classes that have examples. In peer order, each takes the k
// classes with the fewest holders so far, ties in a drawn order; so numbers of holders differ by at
// most 1, and every class is held when peers * k >= classes (else the examples of the others stay
// unowned). A class is divided evenly among its holders. Throws UsageError when k is out of range
// or a class has fewer examples than holders.
std::vector<Indices> split_labels(std::vector<Indices> by_class, std::uint32_t peers,
                                  std::uint64_t k, kernels::Rng& rng);

}  // namespace hearsay::runtime
