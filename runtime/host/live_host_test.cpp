// SPDX-License-Identifier: Apache-2.0
// Live peers over real sockets: every protocol ends, means are kept, stops are obeyed.
#include "runtime/host/live_host.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "gossip/limits.hpp"
#include "gossip/protocols/testkit_codec.hpp"
#include "kernels/core/digest.hpp"
#include "runtime/host/live_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using namespace hearsay::runtime::live_testkit;
using hearsay::gossip::Time;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

TEST_CASE("live pools of every protocol train their epochs and part in peace") {
  const auto* protocol = GENERATE("pairwise", "push", "push-sum", "ddp", "local");
  const std::uint32_t peers = GENERATE(1u, 2u, 5u);
  CAPTURE(protocol, peers);
  Pool pool(config_of(peers, protocol));
  pool.run();
  for (const auto& peer : pool.peers) {
    CAPTURE(peer->self.value, peer->outcome.reason);
    CHECK(peer->outcome.alive);
    CHECK(peer->outcome.reason == "finished");
    CHECK(peer->protocol->counters().steps == 100);
    CHECK(peer->sink.lost == 0);
    CHECK(peer->sink.backwards == 0);
    CHECK(peer->drained);
    CHECK(peer->transport->meter().frames_dropped == 0);
  }
}

TEST_CASE("pairwise exchanges over sockets keep the pool's mean and pull its peers together") {
  Pool pool(config_of(4, "pairwise"));
  const std::vector<double> before = pool.mean();
  const double apart = pool.disagreement();
  pool.run();
  const std::vector<double> after = pool.mean();
  for (std::size_t i = 0; i < kValues; ++i) CHECK(after[i] == Approx(before[i]).margin(1e-5));
  CHECK(pool.disagreement() < 1e-3 * apart);
  for (const auto& peer : pool.peers) CHECK(peer->sink.merges > 10);
}

TEST_CASE("in a codec whose answers mirror they do so too, with fewer bytes") {
  const auto plan =
      std::make_shared<const hearsay::gossip::testkit::HalfPlan>(kValues, true, 0x1p-16f);
  Pool pool(config_of(4, "pairwise"), plan);
  const std::vector<double> before = pool.mean();
  const double apart = pool.disagreement();
  pool.run();
  const std::vector<double> after = pool.mean();
  for (std::size_t i = 0; i < kValues; ++i) CHECK(after[i] == Approx(before[i]).margin(1e-5));
  CHECK(pool.disagreement() < 1e-3 * apart);
  for (const auto& peer : pool.peers) {
    CHECK(peer->sink.merges > 10);
    CHECK(peer->protocol->counters().merges_refused == 0);
    const TransportMeter meter = peer->transport->meter();
    CHECK(meter.payload_bytes_sent > 0);
    CHECK(meter.payload_bytes_sent <= meter.frames_sent * plan->most_bytes());
  }
}

TEST_CASE("rendezvous peers wait for each other and still end") {
  auto config = config_of(3, "pairwise");
  config.wait = true;
  Pool pool(config);
  pool.run();
  for (const auto& peer : pool.peers) CHECK(peer->outcome.reason == "finished");
}

TEST_CASE("a peer that is told to stop says goodbye, and the others finish without it") {
  auto config = config_of(3, "pairwise");
  config.epochs = 8000;  // 4 s and more
  Pool pool(config);
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<double> ended_s{0.0};
  pool.peers[1]->poll = [&](LiveOrders& orders) {
    if (std::chrono::steady_clock::now() - begin > 300ms) orders.stop = "interrupted";
  };
  pool.run();
  CHECK(pool.peers[1]->outcome.reason == "interrupted");
  CHECK(pool.peers[1]->outcome.alive);
  CHECK(pool.peers[1]->outcome.wall_s < 3.5);
  for (const std::size_t i : {0, 2}) {
    CHECK(pool.peers[i]->outcome.reason == "finished");
    CHECK(pool.peers[i]->protocol->counters().steps == 8000);
  }
}

TEST_CASE("a peer whose log cannot be kept stops and is not alive") {
  auto config = config_of(2, "pairwise");
  config.epochs = 1000;
  Pool pool(config);
  pool.peers[0]->log_failure = [n = 0]() mutable -> std::optional<std::string> {
    return ++n > 3 ? std::optional<std::string>("disk full") : std::nullopt;
  };
  pool.run();
  CHECK_FALSE(pool.peers[0]->outcome.alive);
  CHECK(pool.peers[0]->outcome.reason == "log failed");
  CHECK(pool.peers[1]->outcome.reason == "finished");
}

TEST_CASE("peers that lose half of their frames still end, with their models in one piece") {
  auto config = config_of(3, "pairwise");
  Pool pool(config);
  for (const auto& peer : pool.peers)
    peer->poll = [](LiveOrders& orders) { orders.network.drop = 0.5; };
  pool.run();
  for (const auto& peer : pool.peers) {
    CHECK(peer->outcome.reason == "finished");
    for (const float value : peer->trainer.weights()) REQUIRE(std::abs(value) < 10.0f);
  }
}

TEST_CASE("arrivals are bounded, in order, and make the sender wait") {
  Arrivals arrivals;
  hearsay::gossip::Frame frame;
  std::uint64_t taken = 0;
  while (true) {
    frame = {};
    frame.seq = taken;
    if (!arrivals.frame_arrived(frame)) break;
    ++taken;
  }
  CHECK(taken == hearsay::gossip::limits::kArrivalFrames);
  CHECK(frame.seq == taken);              // left as it was
  arrivals.peer_down(PeerId(1), "gone");  // always finds room
  std::uint64_t next = 0;
  for (const Arrivals::Item& item : arrivals.take(0ns)) {
    if (const auto* each = std::get_if<hearsay::gossip::Frame>(&item)) CHECK(each->seq == next++);
  }
  CHECK(next == taken);
  CHECK(arrivals.frame_arrived(frame));
}
