// SPDX-License-Identifier: Apache-2.0
#include "gossip/topology/topology.hpp"

#include <set>
#include <vector>

#include "tests/catch.hpp"

using namespace hearsay::gossip;
using hearsay::kernels::Rng;

TEST_CASE("ring neighbours are the two next to a peer, and one in a pool of two") {
  const auto ring = make_ring(5);
  CHECK(ring->degree(PeerId(0), 0) == 2);
  CHECK(ring->neighbour(PeerId(0), 0, 0) == PeerId(1));
  CHECK(ring->neighbour(PeerId(0), 0, 1) == PeerId(4));
  CHECK(make_ring(2)->degree(PeerId(1), 0) == 1);
  CHECK(make_ring(2)->neighbour(PeerId(1), 0, 0) == PeerId(0));
  CHECK(make_ring(1)->degree(PeerId(0), 0) == 0);
}

TEST_CASE("one-peer exponential averaging is exact after log2(n) rounds when n is a power of two") {
  const std::uint32_t n = 16;
  const auto graph = make_exponential(n);
  std::vector<double> x(n);
  for (std::uint32_t i = 0; i < n; ++i) x[i] = i * i;
  for (std::uint64_t round = 0; round < 4;
       ++round) {  // Ying et al. 2021: x_i <- (x_i + x_(i + 2^t)) / 2
    std::vector<double> next(n);
    for (std::uint32_t i = 0; i < n; ++i)
      next[i] = 0.5 * (x[i] + x[graph->neighbour(PeerId(i), round, 0).value]);
    x = next;
  }
  for (const double v : x) CHECK(v == Approx(x[0]));
  CHECK(make_exponential(5)->neighbour(PeerId(4), 2, 0) == PeerId(3));  // 4 + 4 mod 5
  CHECK(make_exponential(1)->degree(PeerId(0), 7) == 0);
}

TEST_CASE("random regular graphs are simple, connected, regular, and depend on the seed") {
  const auto [n, d] = GENERATE(std::pair{2u, 1u}, std::pair{7u, 2u}, std::pair{16u, 3u},
                               std::pair{16u, 4u}, std::pair{10u, 9u}, std::pair{101u, 6u});
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(n, d, seed);
  const auto edges = random_regular_edges(n, d, Rng::stream(seed, "topology"));
  CHECK(edges.size() == n * d / 2);
  std::vector<std::uint32_t> degree(n);
  std::set<std::pair<std::uint32_t, std::uint32_t>> unique;
  for (const auto& [a, b] : edges) {
    CHECK(a < b);
    ++degree[a];
    ++degree[b];
    unique.insert({a, b});
  }
  CHECK(unique.size() == edges.size());
  for (const std::uint32_t k : degree) CHECK(k == d);
  CHECK(is_connected(n, edges));
  if (n == 101) CHECK(edges != random_regular_edges(n, d, Rng::stream(seed + 10, "topology")));
}

TEST_CASE("a graph from edges knows both directions and what is not connected") {
  const auto graph = make_graph(4, {{0, 1}, {2, 1}});
  CHECK(graph->degree(PeerId(1), 0) == 2);
  CHECK(graph->neighbour(PeerId(2), 0, 0) == PeerId(1));
  CHECK_FALSE(is_connected(4, {{0, 1}, {2, 1}}));
  CHECK(is_connected(3, {{0, 1}, {2, 1}}));
}

TEST_CASE("possible partners are who chooses and who is chosen") {
  const auto ids = [](std::initializer_list<std::uint32_t> values) {
    std::vector<PeerId> peers;
    for (const std::uint32_t value : values) peers.push_back(PeerId(value));
    return peers;
  };
  CHECK(possible_partners(*make_ring(6), PeerId(0), 6) == ids({1, 5}));
  CHECK(possible_partners(*make_uniform(4), PeerId(2), 4) == ids({0, 1, 3}));
  // 1, 2, 4 and 8 places further on, and as many back
  CHECK(possible_partners(*make_exponential(11), PeerId(0), 11) == ids({1, 2, 3, 4, 7, 8, 9, 10}));
  CHECK(possible_partners(*make_graph(4, {{0, 1}, {1, 2}, {2, 3}}), PeerId(1), 4) == ids({0, 2}));
  CHECK(possible_partners(*make_uniform(1), PeerId(0), 1).empty());
}
