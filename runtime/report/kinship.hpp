// SPDX-License-Identifier: Apache-2.0
// Who is alike in a pool, put together out of what each peer found for itself: one matrix of
// distances at an instant, the communities that most peers agree on at the end, and the groups that
// the split of the data made. Pure functions. Cost: O(n^2) a matrix, O(views) the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clustering/agglomerate.hpp"
#include "clustering/distances.hpp"
#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

// Instants at which to look at the matrix: once most of those who ever look have, half-way, and the
// last; fewer where they are the same. Empty: no distances were logged, or too many peers.
std::vector<double> instants_of(const RunFacts& facts);
// By each peer's newest row at that time; where two peers saw their distance differently, the mean.
// +inf: not known to either.
clustering::Distances distances_at(const RunFacts& facts, double time_s);
// As the run was told to link them (--cluster agglo:LINKAGE); average where it was not.
clustering::Tree tree_of(const RunFacts& facts, const clustering::Distances& distances);
// Peers in the order of the tree's leaves: whatever was joined stands together.
std::vector<PeerIndex> order_of(const clustering::Tree& tree);

struct Communities {
  std::vector<std::uint32_t> label;  // [peer], numbered from 0 by first appearance; empty: unknown
  std::uint32_t count = 0;
  std::size_t agreed = 0, told = 0;  // peers whose newest view is just that; that have one
};
Communities communities_of(const RunFacts& facts);
// "A", "B", ... "Z", "27", ...
std::string community_name(std::uint32_t label);
// [peer] group of `+rotate:groups=G` of --split; empty where there is none.
std::vector<std::uint32_t> groups_of(const RunFacts& facts);

// Of a community or group, among the 8 of page.css.
std::string colour_class(std::uint32_t label);

}  // namespace hearsay::runtime::report
