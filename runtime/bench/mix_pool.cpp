// SPDX-License-Identifier: Apache-2.0
#include "runtime/bench/mix_pool.hpp"

#include <memory>
#include <utility>

#include "merge/policies/ema.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/sim/vector_trainer.hpp"

namespace hearsay::runtime {

using kernels::PeerId;

MixPool::MixPool(const MixOptions& o) : mix(o), lane(1) {
  const auto policy = std::make_shared<const merge::Policy>(
      std::make_unique<merge::Ema>(o.alpha, o.alpha, merge::Ema::Shape::constant),
      std::vector<std::unique_ptr<merge::Modifier>>{});
  const std::shared_ptr<const gossip::Topology> topology = gossip::make_uniform(o.peers);
  for (std::uint32_t i = 0; i < o.peers; ++i) {
    gossip::GossipSettings s;
    s.self = PeerId(i);
    s.peers = o.peers;
    s.seed = o.seed;
    s.batch = 1;
    s.blocks = {o.epochs_between, gossip::BlockMode::steps, 1, kBudget};
    s.exchange = o.exchange;
    s.topology = topology;
    s.policy = policy;
    SimPeer peer;
    peer.trainer = std::make_unique<VectorTrainer>(o.values, o.seed, i);
    peer.model = std::make_unique<HostModel>(*peer.trainer, snapshots, 0, false);
    peer.protocol = std::make_unique<gossip::GossipPeer>(s);
    peers.push_back(std::move(peer));
  }
  options.seed = o.seed;
  options.epochs = kBudget;
  options.compute.kind =
      ComputeOptions::Kind::jitter;  // boundaries of different peers never coincide for long
  options.compute.cv = 0.3;
}

void MixPool::scatter(std::uint64_t seed) {
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    kernels::Rng rng = kernels::Rng::stream(seed, "scatter", i);
    for (float& v : peers[i].trainer->weights()) v = static_cast<float>(rng.normal());
  }
}

double MixPool::disagreement() const {
  std::vector<double> sum(mix.values, 0.0);
  double squares = 0.0;
  for (const SimPeer& peer : peers) {
    const std::span<const float> x = peer.trainer->weights();
    for (std::size_t k = 0; k < mix.values; ++k) {
      const auto value = static_cast<double>(x[k]);
      sum[k] += value;
      squares += value * value;
    }
  }
  for (const double s : sum) squares -= s * s / static_cast<double>(peers.size());
  return squares;
}

std::uint64_t MixPool::merges_started() const {
  std::uint64_t merges = 0;
  for (const SimPeer& peer : peers) merges += peer.protocol->counters().merges_started;
  return merges;
}

std::uint64_t MixPool::merges_applied() const {
  std::uint64_t merges = 0;
  for (const SimPeer& peer : peers) merges += peer.protocol->counters().merges_applied;
  return merges;
}

MixTable::MixTable(MixPool& pool) : pool_(pool) {
  for (std::uint32_t i = 0; i < pool.peers.size(); ++i) feed(i, gossip::input::Start{});
}

std::uint64_t MixTable::one_merge(std::uint32_t initiator) {
  const std::uint64_t before = started_;
  while (frames_.empty()) feed(initiator, gossip::input::StepDone{{1, 0.0, 0, 0.0}});
  while (!frames_.empty()) {
    gossip::Frame frame = std::move(frames_.front());
    frames_.pop_front();
    const std::uint32_t to = frame.to.value;
    feed(to, gossip::input::FrameIn{std::move(frame)});
    feed(to, gossip::input::StepDone{{1, 0.0, 0, 0.0}});
  }
  return started_ - before;
}

void MixTable::feed(std::uint32_t peer, const gossip::Input& input) {
  gossip::Protocol& protocol = *pool_.peers[peer].protocol;
  const std::uint64_t started = protocol.counters().merges_started;
  gossip::Actions actions;
  protocol.on(input, gossip::Time{0}, *pool_.peers[peer].model, actions);
  started_ += protocol.counters().merges_started - started;
  for (gossip::Action& action : actions) {
    if (auto* send = std::get_if<gossip::action::Send>(&action))
      frames_.push_back(std::move(send->frame));
  }
}

}  // namespace hearsay::runtime
