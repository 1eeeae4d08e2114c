// SPDX-License-Identifier: Apache-2.0
// Pools of vectors for tests of the host and of what looks on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/digest.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/host/thread_lane.hpp"
#include "runtime/sim/sim_host.hpp"
#include "runtime/sim/vector_trainer.hpp"

namespace hearsay::runtime::testkit {

// One mini-batch an epoch, a merge every four epochs.
inline RunConfig vector_config(std::uint32_t peers, const std::string& protocol) {
  RunConfig c;
  c.peers = peers;
  c.epochs = 60;
  c.batch = 1;
  const auto spec = [](const char* text) { return parse_spec("--test", text); };
  c.merge_every = spec(protocol == "ddp" ? "1" : "4");
  c.protocol = parse_spec("--test", protocol);
  c.topology = spec("uniform");
  c.merge = spec("ema:0.5");
  c.end_game = spec("off");
  c.net = spec("lan");
  c.compute = spec("jitter:cv=0.3");
  return c;
}

struct VectorPool {
  static constexpr std::size_t kValues = 64;
  explicit VectorPool(RunConfig c, std::size_t threads = 1,
                      std::shared_ptr<const gossip::CodecPlan> codec = nullptr)
      : config(std::move(c)), plan(build_pool_plan(config)), lane(threads) {
    plan.codec = std::move(codec);
    for (std::uint32_t i = 0; i < config.peers; ++i) {
      SimPeer peer;
      new_trainer(peer, kernels::PeerId(i));
      peer.protocol = build_protocol(config, plan, kernels::PeerId(i), 1);
      peers.push_back(std::move(peer));
    }
  }

  void new_trainer(SimPeer& peer, kernels::PeerId id) {
    peer.model.reset();
    peer.trainer = std::make_unique<VectorTrainer>(kValues, config.seed, id.value);
    peer.model = std::make_unique<HostModel>(*peer.trainer, snapshots, 0, true);
  }

  SimOptions options() {
    SimOptions o;
    o.network = parse_network(config.net);
    o.compute = parse_compute(config.compute);
    o.faults = parse_faults(config.chaos, config.peers, config.seed);
    o.seed = config.seed;
    o.epochs = config.epochs;
    o.time_limit_s = config.time_s;
    o.has_mass = config.protocol.name == "push-sum";
    o.is_one_way = o.has_mass || config.protocol.name == "push";
    o.topology = plan.topology;
    o.steps_between_merges = plan.gossips ? 4 : 0;
    if (config.protocol.name != "local") o.stop_deadline = std::chrono::seconds(10);
    o.rebirth.new_trainer = [this](SimPeer& peer, kernels::PeerId id) { new_trainer(peer, id); };
    o.rebirth.new_protocol = [this](SimPeer& peer, kernels::PeerId id, std::uint32_t incarnation) {
      PeerPlace place;
      place.incarnation = incarnation;
      place.late = true;
      peer.protocol = build_protocol(config, plan, id, 1, place);
    };
    return o;
  }

  // `before` and `after` see the host around the run.
  SimOutcome run(EventSink& sink, const std::function<void(SimHost&)>& before = nullptr,
                 const std::function<void(SimHost&, gossip::Time)>& after = nullptr) {
    SimHost host(options(), peers, lane);
    if (before) before(host);
    SimOutcome outcome = host.run(sink, {});
    if (after) after(host, outcome.virtual_time);
    return outcome;
  }

  std::string digest() const {
    kernels::DigestBuilder builder;
    for (const auto& peer : peers) builder.add(peer.trainer->weights());
    return builder.finish().hex();
  }

  RunConfig config;
  PoolPlan plan;
  ThreadLane lane;
  SnapshotPool snapshots;
  std::vector<SimPeer> peers;
};

}  // namespace hearsay::runtime::testkit
