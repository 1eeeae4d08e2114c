// SPDX-License-Identifier: Apache-2.0
// Peers of --protocol choco that begin when others have trained: their weights are those that they
// were given, and so is what others take them for.
#include <algorithm>

#include "gossip/protocols/testkit_choco.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;

TEST_CASE("who begins late pulls nobody towards the start") {
  const std::uint32_t incarnation = GENERATE(0u, 1u);  // a place not taken before; one taken again
  CAPTURE(incarnation);
  Options options;
  options.alike = true;
  if (incarnation == 0) {
    options.at_start.assign(options.peers, true);
    options.at_start[3] = false;
  }
  Pool pool(options);
  const std::vector<float> start = pool.models[3]->w;
  pool.frames.clear();
  pool.dead.insert(3);
  if (incarnation > 0) {
    for (const std::uint32_t i : {2u, 4u}) pool.feed(i, input::PeerDown{PeerId(3)});
  }
  const auto spread = [&] {  // of the weights' means over the peers
    double lowest = 1e9, highest = -1e9;
    for (std::uint32_t i = 0; i < pool.options.peers; ++i) {
      if (pool.dead.contains(i)) continue;
      double sum = 0.0;
      for (const float w : pool.models[i]->w) sum += w;
      lowest = std::min(lowest, sum / kValues);
      highest = std::max(highest, sum / kValues);
    }
    return highest - lowest;
  };
  for (int r = 0; r < 50; ++r) {  // all learn the same
    for (std::uint32_t i = 0; i < pool.options.peers; ++i) {
      for (float& w : pool.models[i]->w) w += i == 3 ? 0.0f : 0.1f;
    }
    pool.rounds(1);
  }
  pool.rounds(300);  // until all agree
  CHECK(spread() < 0.01);
  pool.dead.clear();
  pool.models[3]->w = start;
  pool.begin(3, incarnation, true);
  double widest = 0.0;
  pool.deliver_all();  // asks for weights
  for (int r = 0; r < 10; ++r) {
    pool.round([&] {
      pool.deliver_all();
      if (r > 0) widest = std::max(widest, spread());
    });
  }
  CHECK(pool.peers[3]->counters().merges_started > 0);
  CHECK(widest < 0.01);
  settle(pool);
  CHECK(copies_apart(pool) == 0);
}
