// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics/peers_json.hpp"

#include <random>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

PoolSnapshot example() {
  PoolSnapshot pool;
  pool.run = "runs \xff";
  pool.min_peers = 2;
  pool.now.wall_s = 3.5;
  pool.now.live = 1;
  pool.now.target = 0.9;
  pool.peers.resize(2);
  pool.peers[0].name = "p00";
  pool.peers[0].pid = 4711;
  pool.peers[0].status.samples = 12;
  pool.peers[1].name = "p01";
  pool.peers[1].ended = "killed by SIGKILL";
  pool.peers[1].status.state = PeerStatus::State::lost;
  pool.peers[1].status.newest_merges = {{"p00", 0.5, 1.0}};
  return pool;
}

}  // namespace

TEST_CASE("a pool reads back as it was written", "[metrics]") {
  const std::string text = text_of(peers_json(example()));
  CHECK(text.find('\n') == text.size() - 1);
  const auto pool = read_peers_json(text);
  REQUIRE(pool);
  CHECK(pool->run == "runs \xef\xbf\xbd");
  CHECK(pool->min_peers == 2);
  CHECK(pool->now.wall_s == 3.5);
  CHECK(pool->now.live == 1);
  CHECK(pool->now.target == 0.9);
  CHECK_FALSE(pool->now.target_now);
  REQUIRE(pool->peers.size() == 2);
  CHECK(pool->peers[0].pid == 4711);
  CHECK(pool->peers[0].status.samples == 12);
  CHECK(pool->peers[1].ended == "killed by SIGKILL");
  CHECK(pool->peers[1].status.state == PeerStatus::State::lost);
  CHECK(pool->peers[1].status.newest_merges.size() == 1);
}

TEST_CASE("cut text, other people's JSON and random bytes are no pool, and harmless", "[metrics]") {
  const std::string text = text_of(peers_json(example()));
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut)
    REQUIRE_FALSE(read_peers_json(std::string_view(text.data(), cut)));
  for (const char* other : {"", "{}", "[]", "null", "3", R"({"peers":[]})", "<html>"})
    CHECK_FALSE(read_peers_json(other));
  for (const char* pid : {"1e300", "-1", "4294967296", "1.5"}) {
    std::string odd = text;
    odd.replace(odd.find("4711"), 4, pid);
    CHECK_FALSE(read_peers_json(odd));
  }
  const auto seed = 20260103u;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2'000; ++i) {
    std::string changed = text;
    for (auto changes = 1 + random() % 4; changes-- > 0;)
      changed[random() % changed.size()] = static_cast<char>(random() % 256);
    (void)read_peers_json(changed);
  }
}
