// SPDX-License-Identifier: Apache-2.0
// Baseline `diloco` (Douillard 2023, arXiv 2311.08105): every peer trains the same number of
// mini-batches alone, then the weights of all are averaged by a ring all-reduce, and everyone takes
// the same step of Nesterov's momentum from the slow weights towards that mean
// (outer_optimizer.hpp). With lr = 1 and mu = 0 it is federated averaging (McMahan 2017, arXiv
// 1602.05629) of equal shards. Communication: that of a round of ring_all_reduce.hpp every so many
// mini-batches; all wait for the slowest then. All peers hold the same bits after every round. In a
// codec what each has done since the last round (w - slow) goes round as messages
// (ring_gather.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gossip/baselines/all_reduce.hpp"
#include "gossip/baselines/epoch_log.hpp"
#include "gossip/outer/outer_optimizer.hpp"
#include "gossip/protocol.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

struct DilocoSettings {
  PeerId self;
  std::uint32_t peers = 1;
  // The same for all peers: those of the largest shard.
  std::uint64_t steps_per_epoch = 1, epochs = 1;
  std::uint64_t steps_a_round = 1;  // H, at least 1
  OuterSettings outer;              // nesterov
  std::uint32_t incarnation = 0;
  ReduceSettings reduce{};
};

class Diloco final : public Protocol {
 public:
  explicit Diloco(const DilocoSettings& settings)
      : settings_(settings),
        outer_(settings.outer),
        ring_(make_all_reduce(settings.self, settings.peers, settings.reduce)) {}
  void on(const Input& input, Time now, LocalModel& model, Actions& out) override;
  const Counters& counters() const override { return counters_; }
  // The ring ends with the first that is gone.
  std::uint32_t partners_alive() const override { return settings_.peers - 1; }
  void state(Archive& archive) override;

 private:
  void start(Time now, LocalModel& model, Actions& out);
  void step_done(const StepReport& report, Time now, LocalModel& model, Actions& out);
  void reduce(LocalModel& model, Actions& out);
  void take_waiting(Time now, LocalModel& model, Actions& out);
  void round_finished(Time now, LocalModel& model, Actions& out);
  void partner_down(PeerId who, Actions& out);
  void finish(const std::string& reason, bool alive, Actions& out);
  std::uint64_t budget() const { return settings_.epochs * settings_.steps_per_epoch; }

  DilocoSettings settings_;
  Counters counters_;
  EpochLog log_;
  OuterOptimizer outer_;
  std::unique_ptr<AllReduce> ring_;
  kernels::Buffer<float> values_;  // [weights] own, then summed; empty between rounds
  std::uint64_t round_ = 0, steps_in_round_ = 0;
  double last_loss_ = 0.0;
  bool is_finite_ = true, done_ = false;
  std::optional<std::string> stop_reason_;
};

}  // namespace hearsay::gossip
