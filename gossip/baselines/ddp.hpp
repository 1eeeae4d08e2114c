// SPDX-License-Identifier: Apache-2.0
// Baseline `ddp`: synchronous data-parallel SGD. After every mini-batch the gradients of all peers
// are averaged by a ring all-reduce and everyone takes the same step; nobody is ever ahead of
// anybody. Communication: that of a round of ring_all_reduce.hpp a step. Gradients are weighted by
// examples, so short last mini-batches count for what they are. All peers hold the same bits after
// every step. In a codec gradients go round as messages (ring_gather.hpp), and what these leave out
// is said later.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gossip/baselines/all_reduce.hpp"
#include "gossip/baselines/epoch_log.hpp"
#include "gossip/protocol.hpp"

namespace hearsay::gossip {

struct DdpSettings {
  PeerId self;
  std::uint32_t peers = 1;
  std::uint64_t steps_per_epoch = 1,
                epochs = 1;  // the same for all peers: those of the largest shard
  std::uint32_t incarnation = 0;
  ReduceSettings reduce{};
};

class Ddp final : public Protocol {
 public:
  explicit Ddp(const DdpSettings& settings)
      : settings_(settings),
        ring_(make_all_reduce(settings.self, settings.peers, settings.reduce)) {}
  void on(const Input& input, Time now, LocalModel& model, Actions& out) override;
  const Counters& counters() const override { return counters_; }
  // The ring ends with the first that is gone.
  std::uint32_t partners_alive() const override { return settings_.peers - 1; }
  void state(Archive& archive) override;

 private:
  void start(Actions& out);
  void gradient_ready(const StepReport& report, LocalModel& model, Actions& out);
  void step_finished(Time now, Actions& out);
  void partner_down(PeerId who, Actions& out);
  void finish(const std::string& reason, bool alive, Actions& out);

  DdpSettings settings_;
  Counters counters_;
  EpochLog log_;
  StepReport report_;
  std::unique_ptr<AllReduce> ring_;
  bool done_ = false;
  double own_examples_ = 0.0;  // NaN when the own loss is not finite
  std::optional<std::string> stop_reason_;
};

}  // namespace hearsay::gossip
