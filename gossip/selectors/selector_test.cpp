// SPDX-License-Identifier: Apache-2.0
#include "gossip/selectors/selector.hpp"

#include <cmath>
#include <map>
#include <vector>

#include "tests/catch.hpp"

using namespace hearsay::gossip;
using hearsay::kernels::Rng;

TEST_CASE("partners are drawn evenly among those who may be chosen, in small and large pools") {
  const std::uint32_t peers = GENERATE(5u, 200u);
  CAPTURE(peers);
  const auto topology = make_uniform(peers);
  Selector selector(PeerId(2), *topology, Rng::stream(4, "selector-test"));
  std::map<std::uint32_t, int> hits;
  const int draws = 400 * static_cast<int>(peers);
  for (int i = 0; i < draws; ++i) {
    const auto choice = selector.choose(
        0, [](PeerId p) { return p == PeerId(0); }, 1);
    REQUIRE(choice);
    CHECK(choice->pool == peers - 2);
    ++hits[choice->partner.value];
  }
  CHECK(hits.size() == peers - 2);
  CHECK(hits.count(0) == 0);
  CHECK(hits.count(2) == 0);
  const double expected = draws / double(peers - 2);
  for (const auto& [peer, count] : hits)
    CHECK(count == Approx(expected).margin(6 * std::sqrt(expected)));
}

TEST_CASE("nobody left means no choice, in a pool of one too") {
  const auto pair = make_uniform(2), alone = make_uniform(1);
  Selector selector(PeerId(0), *pair, Rng::stream(1, "s")),
      hermit(PeerId(0), *alone, Rng::stream(1, "s"));
  CHECK_FALSE(selector.choose(
      0, [](PeerId) { return true; }, 1));
  CHECK_FALSE(hermit.choose(
      0, [](PeerId) { return false; }, 0));
}

TEST_CASE("weighted partners are drawn in proportion, those without weight never") {
  const std::uint32_t peers = GENERATE(8u, 100u);  // 100: more neighbours than are listed otherwise
  CAPTURE(peers);
  const auto topology = make_uniform(peers);
  Selector selector(PeerId(0), *topology, Rng::stream(6, "selector-test"));
  std::vector<double> weights(peers);
  double sum = 0.0;
  for (std::uint32_t i = 2; i < peers; ++i) sum += weights[i] = 1.0 + i % 7;  // 1 has none
  std::map<std::uint32_t, int> hits;
  const int draws = 500 * static_cast<int>(peers);
  for (int i = 0; i < draws; ++i) {
    const auto choice = selector.choose(
        0, [](PeerId p) { return p == PeerId(2); }, 1, weights);
    REQUIRE(choice);
    const std::uint32_t partner = choice->partner.value;
    ++hits[partner];
    REQUIRE(choice->probability == Approx(weights[partner] / (sum - weights[2])));
  }
  CHECK((hits.count(0) == 0 && hits.count(1) == 0 && hits.count(2) == 0));
  double chi_square = 0.0;
  for (std::uint32_t i = 3; i < peers; ++i) {
    const double expected = draws * weights[i] / (sum - weights[2]);
    chi_square += (hits[i] - expected) * (hits[i] - expected) / expected;
  }
  const double freedom = peers - 4;
  CHECK(chi_square < freedom + 4.0 * std::sqrt(2.0 * freedom));
  CHECK(chi_square > freedom - 4.0 * std::sqrt(2.0 * freedom));
}

TEST_CASE("where nobody who may be chosen has weight, partners are drawn evenly") {
  const auto topology = make_ring(6);
  Selector selector(PeerId(0), *topology, Rng::stream(7, "selector-test"));
  const std::vector<double> weights{0.0, 0.0, 0.5, 0.5, 0.0, 0.0};  // of no neighbour
  std::map<std::uint32_t, int> hits;
  for (int i = 0; i < 1000; ++i) {
    const auto choice = selector.choose(
        0, [](PeerId) { return false; }, 0, weights);
    REQUIRE(choice);
    CHECK(choice->probability == 0.5);
    ++hits[choice->partner.value];
  }
  CHECK(hits.size() == 2);
  CHECK(hits[1] == Approx(500).margin(80));
}
