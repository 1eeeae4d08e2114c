// SPDX-License-Identifier: Apache-2.0
// For tests of protocols: a model of a few numbers, and a hand-driven pool without time, loss or
// training.
#pragma once

#include <cmath>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "gossip/protocols/gossip_peer.hpp"
#include "kernels/ops/merge_ops.hpp"
#include "merge/policies/ema.hpp"

namespace hearsay::gossip::testkit {

class TinyModel : public LocalModel {
 public:
  explicit TinyModel(std::vector<float> start) : w(std::move(start)), g(w.size()) {}
  std::size_t size() const override { return w.size(); }
  merge::SnapshotRef snapshot() override { return copy(w); }
  kernels::MergeStats measure(const merge::Snapshot& in, const merge::Snapshot* base) override {
    return kernels::merge_stats(w, in.span(), base ? base->span() : std::span<const float>{}, {});
  }
  void blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) override {
    kernels::merge_blend(static_cast<float>(alpha), w, in.span(),
                         base ? base->span() : std::span<const float>{}, {});
  }
  void adopt(const merge::Snapshot& in, std::uint64_t steps) override {
    w.assign(in.span().begin(), in.span().end());
    steps_behind = steps;
  }
  Probe probe(const merge::Snapshot*) override { return {probe_loss, 0.5, 10}; }
  std::vector<double> probe_losses(const Blend* tried) override {
    return tried == nullptr ? own_losses : tried_losses;
  }
  merge::SnapshotRef crowd_center(const merge::CrowdRule& rule,
                                  std::span<const merge::SnapshotRef> models) override {
    std::vector<float> center(w.size());
    merge::crowd_center(rule, w, models, center);
    return copy(center);
  }
  void begin_block() override {}
  double block_displacement() override { return 1.0; }
  std::vector<float> block_sketch(const kernels::SketchPlan& plan) override {
    std::vector<float> sketch(kernels::sketch_values(plan));
    for (std::size_t i = 0; i < moved.size(); ++i) sketch[i] = moved[i];
    return sketch;
  }
  std::span<float> gradient() override { return g; }
  merge::SnapshotRef copy(std::span<const float> values) override {
    auto snapshot = std::make_shared<merge::Snapshot>();
    snapshot->values = kernels::Buffer<float>(values.size());
    std::copy(values.begin(), values.end(), snapshot->values.data());
    return snapshot;
  }
  std::shared_ptr<merge::Snapshot> blank() override {
    auto snapshot = std::make_shared<merge::Snapshot>();
    snapshot->values = kernels::Buffer<float>(w.size());
    return snapshot;
  }

  std::vector<float> w, g;
  std::vector<float> moved;  // what a block has done, as its sketch says it
  double probe_loss = 1.0;
  std::vector<double> own_losses, tried_losses;
  std::uint64_t steps_behind = 0;  // as adopted
};

inline std::shared_ptr<const merge::Policy> ema(double alpha) {
  return std::make_shared<const merge::Policy>(
      std::make_unique<merge::Ema>(alpha, alpha, merge::Ema::Shape::constant),
      std::vector<std::unique_ptr<merge::Modifier>>{});
}

inline GossipSettings settings(std::uint32_t self, std::uint32_t peers, ExchangeKind kind) {
  GossipSettings s;
  s.self = PeerId(self);
  s.peers = peers;
  s.exchange = kind;
  s.batch = 1;
  s.blocks = {2.0, BlockMode::shifted, 1, 5};
  s.topology = make_uniform(peers);
  s.policy = ema(0.5);
  return s;
}

// Takes the actions of one kind out of a list.
template <typename A>
std::vector<A> take(Actions& actions) {
  std::vector<A> found;
  for (Action& action : actions) {
    if (auto* a = std::get_if<A>(&action)) found.push_back(std::move(*a));
  }
  std::erase_if(actions, [](const Action& action) { return std::holds_alternative<A>(action); });
  return found;
}

inline bool recorded(const Actions& actions, std::string_view name) {
  for (const Action& action : actions) {
    const auto* record = std::get_if<action::Record>(&action);
    if (record != nullptr && record->event.name == name) return true;
  }
  return false;
}

}  // namespace hearsay::gossip::testkit
