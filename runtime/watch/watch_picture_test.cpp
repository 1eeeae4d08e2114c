// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/watch_picture.hpp"

#include <algorithm>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

using State = PeerStatus::State;

WatchedPool pool_of(std::size_t peers) {
  WatchedPool pool;
  pool.snapshot.run = "fashion-s0";
  pool.snapshot.now.wall_s = 31.0;
  pool.snapshot.now.live = static_cast<std::uint32_t>(peers);
  pool.snapshot.peers.resize(peers);
  pool.losses.resize(peers);
  for (std::size_t i = 0; i < peers; ++i) {
    PeerView& view = pool.snapshot.peers[i];
    view.name = (i < 10 ? "p0" : "p") + std::to_string(i);
    view.status.state = State::training;
    view.status.clock_s = 31.0;
    view.status.progress = 0.5;
    view.status.samples = 1000;
    view.status.loss = 0.25;
    pool.merges.add({view.name, "p00", 0.5, 30.0});
  }
  return pool;
}

std::string drawn(const WatchedPool& pool, const WatchLook& look) {
  std::string text;
  for (const StyledLine& line : draw_watch(pool, "runs/x", look)) text += line.plain() + "\n";
  return text;
}

}  // namespace

TEST_CASE("a large window shows table, matrix, changes and the key that ends it", "[watch]") {
  WatchedPool pool = pool_of(4);
  pool.add_change(12.0, "p03 lost (connection lost, noticed by p00)");
  pool.verdict = "ok";
  const std::string text = drawn(pool, {100, 30, true, true});
  CHECK(text.starts_with("fashion-s0  live pool  ended: ok\n\npeer "));
  CHECK(text.find("\np03 ● trains ") != std::string::npos);
  CHECK(text.find("\n\nmerges  the last 4, in 1.0 s; a row took in a column's model\n") !=
        std::string::npos);
  CHECK(text.find("\np02   1   ·   ╲   ·     1") != std::string::npos);
  CHECK(text.ends_with("\n\n00:00:12  p03 lost (connection lost, noticed by p00)\nq ends\n"));
}

TEST_CASE("the newest changes and the trouble stay in view", "[watch]") {
  WatchedPool pool = pool_of(2);
  for (int i = 0; i < 200; ++i) pool.add_change(i, "change " + std::to_string(i));
  pool.trouble = "127.0.0.1:9464 no longer answers (Connection refused): the run has ended";
  pool.is_waiting = true;
  const std::string text = drawn(pool, {60, 24, true, true});
  CHECK(text.find("change 196") == std::string::npos);
  CHECK(text.find("00:03:19  change 199\n") != std::string::npos);
  CHECK(text.find("the\nrun has ended; waiting for it\nq ends\n") != std::string::npos);
  CHECK(pool.changes.size() == WatchedPool::kMostChanges);
  CHECK(pool.changes_so_far == 200);
}

TEST_CASE("a pool that is not there yet is its trouble", "[watch]") {
  WatchedPool pool;
  pool.trouble = "no log yet in runs/x";
  CHECK(drawn(pool, {80, 24, true, false}) == "runs/x  live pool\n\nno log yet in runs/x\n");
}

TEST_CASE("any window holds any pool", "[watch]") {
  for (const std::size_t peers : {0, 1, 3, 8, 16, 17, 64}) {
    WatchedPool pool = pool_of(peers);
    pool.trouble = std::string(200, 'x');
    for (int i = 0; i < 5; ++i) pool.add_change(i, std::string(150, 'y') + "\x1b[2J");
    for (int columns = 1; columns <= 120; columns += 7) {
      for (int rows = 1; rows <= 60; ++rows) {
        CAPTURE(peers, columns, rows);
        const auto lines = draw_watch(pool, "a:1", {columns, rows, true, true});
        REQUIRE(!lines.empty());
        REQUIRE(static_cast<int>(lines.size()) <= rows);
        for (const StyledLine& line : lines) {
          REQUIRE(columns_of(line.plain()) <= std::min(columns, 100));
          REQUIRE(line.plain().find('\x1b') == std::string::npos);
        }
      }
    }
    // Where everything fits, everything is there.
    const auto lines = draw_watch(pool, "a:1", {100, 200, true, true});
    const auto rows = std::count_if(lines.begin(), lines.end(), [](const StyledLine& line) {
      return line.plain().find("● trains") != std::string::npos;
    });
    CHECK(static_cast<std::size_t>(rows) == peers);
  }
}

TEST_CASE("without a terminal a pool is one line", "[watch]") {
  WatchedPool pool = pool_of(2);
  CHECK(plain_progress(pool, false) ==
        "[00:00:31] 2/2 peers  samples 2000  loss 0.250+-0.000  merges 0 (0 refused)  sent 0 B  "
        "left 00:00:31");
  CHECK(plain_change({12.0, "p01 \x1b lost"}) == "[00:00:12] p01 ? lost");
}
