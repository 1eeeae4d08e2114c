// SPDX-License-Identifier: Apache-2.0
// Who may merge with whom. A topology is a pure function of (peer, how many merges it has started);
// choosing among the neighbours is the selector's work.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

class Topology {
 public:
  virtual ~Topology() = default;
  // Neighbours of `self` for its merge number `started`, 0-based; may be 0 in a pool of one.
  virtual std::uint32_t degree(PeerId self, std::uint64_t started) const = 0;
  virtual PeerId neighbour(PeerId self, std::uint64_t started,
                           std::uint32_t index) const = 0;  // index < degree
};

// Whom `self` may ever exchange weights with, whoever begins; by id. Topologies that rotate are
// asked for 64 rounds. Cost: O(peers x degree), or O(peers) when everyone is a neighbour.
std::vector<PeerId> possible_partners(const Topology& topology, PeerId self, std::uint32_t peers);

std::unique_ptr<Topology> make_uniform(std::uint32_t peers);  // everyone else
std::unique_ptr<Topology> make_ring(std::uint32_t peers);     // i - 1 and i + 1
// One-peer exponential graph (Ying et al. 2021, arXiv 2110.13363): i + 2^(t mod ceil(log2 n)), one
// neighbour a merge.
std::unique_ptr<Topology> make_exponential(std::uint32_t peers);
// Undirected graph from edges; every end is < peers.
std::unique_ptr<Topology> make_graph(
    std::uint32_t peers, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

// Edges of a random simple connected d-regular graph: pairing with edge switches (d < peers, d *
// peers even, d >= 2 or peers == 2). Deterministic in the stream.
std::vector<std::pair<std::uint32_t, std::uint32_t>> random_regular_edges(std::uint32_t peers,
                                                                          std::uint32_t degree,
                                                                          kernels::Rng rng);
bool is_connected(std::uint32_t peers,
                  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace hearsay::gossip
