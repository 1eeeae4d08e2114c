// SPDX-License-Identifier: Apache-2.0
// Live peers with vectors instead of networks, each on a thread of its own, over real sockets:
// every protocol ends, means are kept, stops are obeyed.
#include "runtime/host/live_host.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "gossip/limits.hpp"
#include "kernels/core/digest.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/sim/vector_trainer.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Time;
using hearsay::kernels::PeerId;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kValues = 257;

struct CountingSink final : EventSink {
  void write(Time t, std::string_view, const hearsay::gossip::Event& event) override {
    backwards += t < last;
    last = t;
    lost += event.name == "peer.lost";
    merges += event.name == "merge.applied";
  }
  Time last{0};
  int backwards = 0, lost = 0, merges = 0;
};

// A mini-batch takes long enough for frames to arrive in between.
class SlowVector final : public Trainer {
 public:
  explicit SlowVector(std::uint32_t peer) : vector_(kValues, 1, peer) {}
  hearsay::gossip::StepReport train(std::size_t worker) override {
    std::this_thread::sleep_for(500us);
    return vector_.train(worker);
  }
  hearsay::gossip::StepReport train_gradient(std::size_t worker) override {
    return vector_.train_gradient(worker);
  }
  void apply_gradient(float) override {}
  std::span<float> weights() override { return vector_.weights(); }
  std::span<float> gradient() override { return vector_.gradient(); }
  hearsay::gossip::Probe probe(std::span<const float>, std::size_t) override { return {}; }
  std::uint64_t examples() const override { return 1; }
  std::uint64_t steps_per_epoch() const override { return 1; }
  void state(hearsay::gossip::Archive&) override {}
  std::vector<std::pair<std::string_view, std::span<float>>> moments() override { return {}; }
  void take_optimizer(hearsay::gossip::Archive&) override {}
  void skip_to(std::uint64_t) override {}

 private:
  VectorTrainer vector_;
};

RunConfig config_of(std::uint32_t peers, const char* protocol) {
  RunConfig c;
  c.peers = peers;
  c.epochs = 100;
  c.batch = 1;
  const auto spec = [](const char* text) { return parse_spec("--test", text); };
  c.merge_every =
      spec(std::string(protocol) == "ddp" || std::string(protocol) == "local" ? "1" : "4");
  c.protocol = spec(protocol);
  c.topology = spec("uniform");
  c.merge = spec("ema:0.5");
  c.end_game = spec("off");
  return c;
}

struct Peer {
  Peer(const RunConfig& config, const PoolPlan& plan, PeerId id)
      : self(id), trainer(id.value), model(trainer, snapshots, 0, true) {
    protocol = build_protocol(config, plan, id, 1);
    TransportOptions options;
    options.blank = [this](std::size_t n) { return snapshots.blank(n); };
    transport = std::make_unique<Transport>(std::move(options));
  }
  void run(const RunConfig& config, const std::vector<Endpoint>& addresses) {
    Hello hello;
    hello.run = "test";
    hello.peer = self;
    hello.peers = config.peers;
    hello.layout.add("0.weight", {kValues});
    for (std::uint32_t i = 0; i < addresses.size(); ++i)
      hello.book.push_back({PeerId(i), 0, addresses[i]});
    transport->start(std::move(hello), arrivals);
    LiveOptions options;
    options.self = self;
    options.epochs = config.epochs;
    LiveHooks hooks;
    hooks.poll = poll;
    hooks.log_failure = log_failure;
    LiveHost host(options, trainer, model, *protocol, *transport, arrivals, sink, hooks);
    outcome = host.run();
    drained = transport->drain(5s);
  }

  PeerId self;
  SnapshotPool snapshots;
  SlowVector trainer;
  HostModel model;
  std::unique_ptr<hearsay::gossip::Protocol> protocol;
  std::unique_ptr<Transport> transport;
  Arrivals arrivals;
  CountingSink sink;
  std::function<void(LiveOrders&)> poll;
  std::function<std::optional<std::string>()> log_failure;
  LiveOutcome outcome;
  bool drained = false;
};

struct Pool {
  explicit Pool(RunConfig c) : config(std::move(c)) {
    const PoolPlan plan = build_pool_plan(config);
    for (std::uint32_t i = 0; i < config.peers; ++i)
      peers.push_back(std::make_unique<Peer>(config, plan, PeerId(i)));
  }
  void run() {
    std::vector<Endpoint> addresses;
    for (const auto& peer : peers) addresses.push_back(peer->transport->listening());
    std::vector<std::thread> threads;
    for (const auto& peer : peers)
      threads.emplace_back([&, p = peer.get()] { p->run(config, addresses); });
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<double> mean() const {
    std::vector<double> sum(kValues, 0.0);
    for (const auto& peer : peers) {
      for (std::size_t i = 0; i < kValues; ++i)
        sum[i] += static_cast<double>(peer->trainer.weights()[i]) / config.peers;
    }
    return sum;
  }
  double disagreement() const {
    const std::vector<double> centre = mean();
    double sum = 0.0;
    for (const auto& peer : peers) {
      for (std::size_t i = 0; i < kValues; ++i) {
        const double d = static_cast<double>(peer->trainer.weights()[i]) - centre[i];
        sum += d * d;
      }
    }
    return sum;
  }

  RunConfig config;
  std::vector<std::unique_ptr<Peer>> peers;
};

}  // namespace

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
    peer->poll = [](LiveOrders& orders) { orders.drop_share = 0.5; };
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
