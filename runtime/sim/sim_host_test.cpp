// SPDX-License-Identifier: Apache-2.0
// The host with vectors instead of networks: history, delivery, faults, end of run.
#include "runtime/sim/sim_host.hpp"

#include <sstream>

#include "runtime/sim/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Time;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

namespace {

struct TextSink final : EventSink {
  void write(Time t, std::string_view peer, const hearsay::gossip::Event& event) override {
    text << t.count() << ' ' << peer << ' ' << event.name << '\n';
    if (event.name == "peer.lost") ++lost;
  }
  std::ostringstream text;
  int lost = 0;
};

struct Pool : testkit::VectorPool {
  using testkit::VectorPool::VectorPool;
  SimOutcome run() {
    const SimOutcome outcome = VectorPool::run(sink);
    CHECK(outcome.sent.frames >= outcome.delivered.frames + outcome.lost.frames);
    return outcome;
  }
  TextSink sink;
};

RunConfig base(std::uint32_t peers, const char* protocol) {
  return testkit::vector_config(peers, protocol);
}

}  // namespace

TEST_CASE("a seed is a history, with any number of threads") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum", "ddp");
  const std::uint64_t seed = GENERATE(0, 7, 123);
  CAPTURE(protocol, seed);
  auto config = base(6, protocol);
  config.seed = seed;
  Pool one(config, 1), two(config, 2),
      other(
          [&] {
            auto c = config;
            c.seed = seed + 1;
            return c;
          }(),
          1);
  one.run();
  two.run();
  other.run();
  CHECK(one.sink.text.str() == two.sink.text.str());
  CHECK(one.digest() == two.digest());
  CHECK(one.digest() != other.digest());
}

TEST_CASE("every pool of every protocol ends with all peers alive and everyone merged") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum");
  const std::uint32_t peers = GENERATE(1u, 2u, 3u, 5u, 7u, 70u);
  const bool wait = GENERATE(false, true);
  const auto* topology = GENERATE("uniform", "ring", "exp");
  CAPTURE(protocol, peers, wait, topology);
  auto config = base(peers, protocol);
  config.wait = wait;
  config.topology = parse_spec("--topology", topology);
  Pool pool(config);
  const SimOutcome outcome = pool.run();
  CHECK_FALSE(outcome.stuck);
  for (std::uint32_t i = 0; i < peers; ++i) {
    CHECK(outcome.peers[i].alive);
    CHECK(outcome.peers[i].reason == "finished");
    CHECK(pool.peers[i].protocol->counters().steps == 60);
    if (peers > 1) CHECK(pool.peers[i].protocol->counters().merges_started > 0);
  }
  CHECK(pool.sink.lost == 0);
}

TEST_CASE("a killed peer costs the others nothing but a line") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum");
  const bool wait = GENERATE(false, true);
  CAPTURE(protocol, wait);
  auto config = base(5, protocol);
  config.wait = wait;
  config.chaos = {"kill=p02@40%"};
  Pool pool(config);
  const SimOutcome outcome = pool.run();
  CHECK_FALSE(outcome.stuck);
  CHECK_FALSE(outcome.peers[2].alive);
  CHECK(outcome.peers[2].reason == "killed");
  for (const std::uint32_t i : {0u, 1u, 3u, 4u}) {
    CHECK(outcome.peers[i].alive);
    CHECK(pool.peers[i].protocol->counters().steps == 60);
  }
  CHECK(pool.sink.lost >= 4);
}

TEST_CASE("a partitioned, a stalled, and lost frames: the pool goes on and ends") {
  const auto* fault =
      GENERATE("partition=p01@20%..50%", "partition=p01@20%", "stall=p01@20%..40%", "drop=10%");
  const auto* protocol = GENERATE("pairwise", "push", "push-sum");
  const bool wait = GENERATE(false, true);
  CAPTURE(fault, protocol, wait);
  auto config = base(4, protocol);
  config.wait = wait;
  config.chaos = {fault};
  Pool pool(config);
  const SimOutcome outcome = pool.run();
  CHECK_FALSE(outcome.stuck);
  CHECK(outcome.faults_never_fired.empty());
  CHECK(outcome.virtual_time < 300s);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(pool.peers[i].protocol->counters().steps == 60);
}

TEST_CASE("a synchronous baseline with a killed peer is stuck, and says so") {
  auto config = base(3, "ddp");
  config.chaos = {"kill=p01@50%"};
  Pool pool(config);
  const SimOutcome outcome = pool.run();
  for (std::size_t i = 0; i < outcome.peers.size(); ++i) {
    CAPTURE(i);
    CHECK((outcome.peers[i].reason == "stuck" || outcome.peers[i].reason == "killed"));
  }
  CHECK(outcome.peers[0].reason == "stuck");
}

TEST_CASE("a slow peer finishes its epochs while the others answer it") {
  auto config = base(4, "pairwise");
  config.compute = parse_spec("--compute", "fixed");
  config.chaos = {"slow=p03*4"};
  Pool pool(config);
  const SimOutcome outcome = pool.run();
  CHECK(outcome.virtual_time >= 240ms);
  CHECK(outcome.virtual_time < 300ms);
  for (const auto& peer : outcome.peers) CHECK(peer.alive);
  CHECK(pool.sink.lost == 0);
}

TEST_CASE("a time limit stops everyone at the next boundary") {
  auto config = base(4, "pairwise");
  config.compute = parse_spec("--compute", "fixed");
  config.time_s = 0.0205;
  Pool pool(config);
  const SimOutcome outcome = pool.run();
  for (std::uint32_t i = 0; i < 4; ++i) {
    CHECK(outcome.peers[i].reason == "time");
    CHECK(pool.peers[i].protocol->counters().steps == 21);
  }
}

TEST_CASE("a symmetric pool keeps its mean, and an end game pulls it together") {
  auto config = base(8, "pairwise");
  config.end_game = parse_spec("--end-game", "rounds=12");
  Pool pool(config);
  std::vector<double> before(64), after(64);
  for (const auto& peer : pool.peers) {
    for (std::size_t k = 0; k < 64; ++k) before[k] += peer.trainer->weights()[k];
  }
  const SimOutcome outcome = pool.run();
  double spread = 0, spread_before_end_game = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    CHECK(outcome.peers[i].alive);
    REQUIRE(outcome.peers[i].before_end_game.size() == 64);
    for (std::size_t k = 0; k < 64; ++k) {
      after[k] += pool.peers[i].trainer->weights()[k];
      spread += std::abs(pool.peers[i].trainer->weights()[k] - pool.peers[0].trainer->weights()[k]);
      spread_before_end_game +=
          std::abs(outcome.peers[i].before_end_game[k] - outcome.peers[0].before_end_game[k]);
    }
  }
  for (std::size_t k = 0; k < 64; ++k) CHECK(after[k] == Approx(before[k]).margin(1e-4));
  CHECK(spread <= spread_before_end_game);
}
