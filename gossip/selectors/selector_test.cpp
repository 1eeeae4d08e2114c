// SPDX-License-Identifier: Apache-2.0
#include "gossip/selectors/selector.hpp"

#include <map>

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
