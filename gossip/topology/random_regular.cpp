// SPDX-License-Identifier: Apache-2.0
// A random regular graph: start from a circulant graph of the wanted degree, then switch random
// pairs of edges (a-b, c-d -> a-d, c-b) whenever the result stays simple. 20 accepted tries per
// edge mix well; a disconnected outcome is switched further.
#include <algorithm>
#include <set>

#include "gossip/topology/topology.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

Edge ordered(std::uint32_t a, std::uint32_t b) { return a < b ? Edge{a, b} : Edge{b, a}; }

std::vector<Edge> circulant_edges(std::uint32_t peers, std::uint32_t degree) {
  std::set<Edge> edges;
  for (std::uint32_t i = 0; i < peers; ++i) {
    for (std::uint32_t hop = 1; hop <= degree / 2; ++hop)
      edges.insert(ordered(i, (i + hop) % peers));
    if (degree % 2 == 1) edges.insert(ordered(i, (i + peers / 2) % peers));
  }
  return {edges.begin(), edges.end()};
}

void switch_edges(std::vector<Edge>& edges, std::size_t tries, kernels::Rng& rng) {
  std::set<Edge> present(edges.begin(), edges.end());
  const auto count = static_cast<std::uint32_t>(edges.size());
  for (std::size_t t = 0; t < tries; ++t) {
    Edge& first = edges[rng.below(count)];
    Edge& second = edges[rng.below(count)];
    const auto [a, b] = first;
    auto [c, d] = second;
    if (rng.below(2) == 1) std::swap(c, d);
    if (a == c || a == d || b == c || b == d) continue;
    const Edge one = ordered(a, d), two = ordered(c, b);
    if (present.count(one) > 0 || present.count(two) > 0) continue;
    present.erase(first);
    present.erase(second);
    present.insert(one);
    present.insert(two);
    first = one;
    second = two;
  }
}

}  // namespace

bool is_connected(std::uint32_t peers, const std::vector<Edge>& edges) {
  std::vector<std::uint32_t> root(peers);
  for (std::uint32_t i = 0; i < peers; ++i) root[i] = i;
  const auto find = [&](std::uint32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  std::uint32_t parts = peers;
  for (const auto& [a, b] : edges) {
    const std::uint32_t ra = find(a), rb = find(b);
    if (ra == rb) continue;
    root[ra] = rb;
    --parts;
  }
  return parts <= 1;
}

std::vector<Edge> random_regular_edges(std::uint32_t peers, std::uint32_t degree,
                                       kernels::Rng rng) {
  HS_CHECK(degree >= 1 && degree < peers && (peers * degree) % 2 == 0);
  HS_CHECK(degree >= 2 || peers == 2);  // a 1-regular graph on more peers cannot be connected
  std::vector<Edge> edges = circulant_edges(peers, degree);
  HS_CHECK(edges.size() == std::size_t{peers} * degree / 2);
  do switch_edges(edges, 20 * edges.size(), rng);
  while (!is_connected(peers, edges));
  std::sort(edges.begin(), edges.end());
  return edges;
}

}  // namespace hearsay::gossip
