// SPDX-License-Identifier: Apache-2.0
// How a pool mixed, from its merge graph alone, beside what theory says of the links it used.
//
// Spread: from an instant on, how long until every model has something of every peer in it,
// directly or through others (temporal reachability). The next spread begins where one is complete.
// Peers that end before it is are not waited for. Contraction: unit vectors, one a peer, are moved
// by the run's merges as weights are, without training; V is the sum of squared distances from
// their mean. Measured is the geometric mean of V'/V over applied merges, until V has fallen by
// 1e20 (rounding) or the merges end. Theory is the largest E[V'/V] that merges drawn at random from
// those that were made can have (gossip/topology/spectral.hpp), so random merges stay at or below
// it. Lane: any. Cost: O(peers) a merge, O(peers^3) once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph_statistics.hpp"
#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

inline constexpr std::size_t kMostPeersForMixing = 1024;
inline constexpr std::size_t kMostPeersForTheory = 256;

struct Spread {
  std::int64_t from_ns = 0, to_ns = 0;
  double merges_per_peer = 0.0;  // applied by the pool meanwhile, over its peers
};

struct Mixing {
  std::vector<Spread> spreads;     // complete ones, one after the other
  std::uint64_t merges = 0;        // that the contraction was measured over
  std::optional<double> measured;  // V'/V a merge; nothing without two peers and a merge
  std::optional<double> theory;
  double left = 1.0;          // V at the end of that over V at the start
  bool is_symmetric = false;  // theory of exchanges, else of pushes

  // Merges that each peer has to apply so that V falls by e.
  static double merges_per_e(double contraction, std::size_t peers);
};

// Nothing for pools of more than kMostPeersForMixing.
std::optional<Mixing> find_mixing(const MergeGraph& graph, const GraphStatistics& statistics);

}  // namespace hearsay::runtime
