// SPDX-License-Identifier: Apache-2.0
// For tests of live peers: vectors instead of networks, which no training moves, so that weights
// change by merges alone; each peer on a thread of its own, over real sockets.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/core/errc.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/host/live_host.hpp"
#include "runtime/sim/vector_trainer.hpp"

namespace hearsay::runtime::live_testkit {

using namespace std::chrono_literals;
using gossip::Time;
using kernels::PeerId;

constexpr std::size_t kValues = 257;

struct CountingSink final : EventSink {
  void write(Time t, std::string_view, const gossip::Event& event) override {
    backwards += t < last;
    last = t;
    lost += event.name == "peer.lost";
    merges += event.name == "merge.applied";
  }
  Time last{0};
  int backwards = 0, lost = 0, merges = 0;
};

// A mini-batch takes long enough for frames to arrive in between.
class SlowVector final : public VectorTrainer {
 public:
  explicit SlowVector(std::uint32_t peer) : VectorTrainer(kValues, 1, peer) {}
  gossip::StepReport train(std::size_t worker) override {
    std::this_thread::sleep_for(500us);
    return VectorTrainer::train(worker);
  }
};

// What is said of options that do not fit together; empty: they do.
inline std::string complaint_of(const RunConfig& config) {
  try {
    build_pool_plan(config);
  } catch (const kernels::UsageError& error) {
    return error.what();
  }
  return {};
}

inline RunConfig config_of(std::uint32_t peers, const char* protocol) {
  RunConfig c;
  c.peers = peers;
  c.epochs = 100;
  c.batch = 1;
  const auto spec = [](const char* text) { return parse_spec("--test", text); };
  c.merge_every = spec(
      std::string(protocol).starts_with("ddp") || std::string(protocol) == "local" ? "1" : "4");
  c.protocol = spec(protocol);
  c.topology = spec("uniform");
  c.merge = spec("ema:0.5");
  c.end_game = spec("off");
  return c;
}

struct Peer {
  Peer(const RunConfig& config, const PoolPlan& plan, PeerId id)
      : self(id), codec(plan.codec), trainer(id.value), model(trainer, snapshots, 0, true) {
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
    if (codec) hello.codec = codec->text();
    for (std::uint32_t i = 0; i < addresses.size(); ++i)
      hello.book.push_back({PeerId(i), 0, addresses[i]});
    transport->start(std::move(hello), arrivals, false, {}, bounds_of(codec.get()));
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
  std::shared_ptr<const gossip::CodecPlan> codec;
  SnapshotPool snapshots;
  SlowVector trainer;
  HostModel model;
  std::unique_ptr<gossip::Protocol> protocol;
  std::unique_ptr<Transport> transport;
  Arrivals arrivals;
  CountingSink sink;
  std::function<void(LiveOrders&)> poll;
  std::function<std::optional<std::string>()> log_failure;
  LiveOutcome outcome;
  bool drained = false;
};

struct Pool {
  explicit Pool(RunConfig c, std::shared_ptr<const gossip::CodecPlan> codec = nullptr)
      : config(std::move(c)) {
    PoolPlan plan = build_pool_plan(config);
    plan.codec = std::move(codec);
    for (std::uint32_t i = 0; i < config.peers; ++i)
      peers.push_back(std::make_unique<Peer>(config, plan, PeerId(i)));
  }
  std::vector<Endpoint> addresses() const {
    std::vector<Endpoint> found;
    for (const auto& peer : peers) found.push_back(peer->transport->listening());
    return found;
  }
  void run() { run(addresses()); }
  // With other addresses where something stands between the peers.
  void run(const std::vector<Endpoint>& addresses) {
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

}  // namespace hearsay::runtime::live_testkit
