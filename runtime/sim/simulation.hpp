// SPDX-License-Identifier: Apache-2.0
// A simulated pool made from a configuration: shards, trainers, protocols, host; and what came out
// of it as numbers. Files and terminals are somebody else's work (runtime/app/command_sim.cpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/digest.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/host_model.hpp"
#include "runtime/host/thread_lane.hpp"
#include "runtime/sim/sim_host.hpp"
#include "runtime/train/nn_trainer.hpp"

namespace hearsay::runtime {

// Metrics of one peer at the end, or of a pool's mean; the words of result.json.
struct PeerResult {
  std::string name;
  bool alive = false;
  std::string reason;
  std::size_t shard = 0;                 // examples it owned
  Evaluation test;                       // of its own model, before any end game
  std::optional<Evaluation> test_final;  // after the end game
  gossip::Counters counters;
  std::uint64_t payload_bytes = 0, wire_bytes = 0;
  double longest_merge_gap_epochs = 0.0;  // 0 epochs trained: 0
};

struct PoolResult {
  std::string verdict =
      "ok";            // ok, lost quorum, stuck, target missed, fault never fired, interrupted
  std::string reason;  // one sentence when the verdict is not ok, or why the run ended early
  int exit_code = 0;
  double wall_s = 0.0, virtual_s = 0.0;
  double training_share = 0.0;  // of wall time x threads, spent in mini-batches
  std::vector<PeerResult> peers;
  std::uint32_t lost = 0;
  double test_acc_mean = 0.0, test_acc_min = 0.0, test_acc_max = 0.0, test_loss_mean = 0.0;
  double test_acc_averaged_model = 0.0;  // uniform mean of the live peers' weights
  std::optional<double> test_acc_final_mean, test_acc_final_min, test_acc_final_max;
  double consensus_distance =
      0.0;  // (1/n) sum || w_i - mean ||^2 over live peers, before any end game
  double mean_merge_age_epochs = 0.0;      // over all applied merges, in epochs of the receiver
  std::optional<double> target_reached_s;  // virtual
  double target_best = 0.0;
  std::uint32_t votes_heard = 0;  // most that any peer had heard when it stopped by convergence
  kernels::Digest digest;
  std::vector<std::string> faults_never_fired;
};

class Simulation {
 public:
  Simulation(const RunConfig& config, Dataset dataset);

  // Progress, notices and interruption come from the caller; evaluation is wired up here.
  PoolResult run(EventSink& events, SimHooks hooks);

  const kernels::Layout& layout() const { return context_->model().layout(); }
  std::size_t threads() const { return lane_.workers(); }
  const std::string& data_digest() const { return data_digest_; }  // as `hearsay data describe`
  // The model to use afterwards, for inputs byte / 255: mean of the live peers' final weights, with
  // --protocol local the first live peer's. Empty when nobody is alive.
  std::vector<float> exported_model() const;
  std::string export_rule() const;

  // For --dry-run.
  struct Sizes {
    std::size_t parameters, examples, smallest_shard, largest_shard, bytes_a_peer, test_examples;
    std::uint64_t steps_per_epoch;  // of the largest shard
  };
  Sizes sizes() const;

 private:
  Evaluation evaluate_peer(std::uint32_t peer, std::span<const float> weights, std::size_t limit);
  void summarise(const SimOutcome& outcome, PoolResult& result);
  void judge(const SimOutcome& outcome, PoolResult& result) const;

  RunConfig config_;
  SimOptions options_;
  PoolPlan plan_;
  Partition partition_;
  ImageSet test_;
  std::string data_digest_;
  ThreadLane lane_;
  std::unique_ptr<NnContext> context_;
  SnapshotPool snapshots_;
  std::vector<std::size_t> shard_sizes_;
  std::vector<SimPeer> peers_;
  std::vector<bool> alive_;
};

}  // namespace hearsay::runtime
