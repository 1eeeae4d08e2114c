// SPDX-License-Identifier: Apache-2.0
// A simulated pool made from a configuration: shards, trainers, protocols, host; and what came out
// of it as numbers. Files and terminals are somebody else's work (runtime/app/command_sim.cpp).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/device/device_pool.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/export_model.hpp"
#include "runtime/host/pool_result.hpp"
#include "runtime/seams/compute_lane.hpp"
#include "runtime/sim/sim_host.hpp"

namespace hearsay::runtime {

class Simulation {
 public:
  Simulation(const RunConfig& config, Dataset dataset);

  // Progress, notices and interruption come from the caller; evaluation is wired up here.
  PoolResult run(EventSink& events, SimHooks hooks);

  // All peers between two events, as one cut: from within hooks.checkpoint, or before run(). The
  // tensors borrow from the trainers and are good until the next event.
  Checkpoint checkpoint();
  // Before run(): goes on from there. Throws DamagedFile when it is no state of this pool.
  void resume(LoadedCheckpoint& from);

  std::uint64_t merges_applied(std::uint32_t peer) const {
    return peers_[peer].protocol->counters().merges_applied;
  }
  // Between two events, as in hooks.interrupted.
  std::span<const float> weights(std::uint32_t peer);
  const kernels::Layout& layout() const { return context_->model().layout(); }
  std::size_t threads() const { return lane_->workers(); }
  const std::string& device() const { return device_.text; }       // "cpu", "cuda:0 NVIDIA H200"
  const std::string& device_note() const { return device_.note; }  // one line, or empty
  const std::string& data_digest() const { return data_digest_; }  // as `hearsay data describe`
  // After run().
  ExportedModel exported_model() const;

  // For --dry-run.
  struct Sizes {
    std::size_t parameters, examples, smallest_shard, largest_shard, bytes_a_peer, test_examples,
        most_message_bytes;
    std::uint64_t steps_per_epoch;  // of the largest shard
  };
  Sizes sizes() const;

 private:
  void make_peers(const Dataset& dataset);
  // With its model; the old ones go.
  void make_trainer(SimPeer& peer, std::uint32_t id, ImageSet shard);
  const ShardTrainer& trainer_of(std::uint32_t peer) const;
  Evaluation evaluate_peer(std::uint32_t peer, std::span<const float> weights, std::size_t limit);
  std::vector<EndedPeer> ended_peers(const SimOutcome& outcome) const;
  double wall_s() const;
  double training_s() const { return earlier_training_s_ + lane_->spent().training_s; }

  RunConfig config_;
  SimOptions options_;
  PoolPlan plan_;
  Partition partition_;
  ImageSet test_;
  std::unique_ptr<const ImageSet> train_;  // where examples change hands: for peers that come back
  std::size_t all_examples_ = 0;
  std::vector<std::uint8_t> wrong_labels_;  // [id], where the result is to say who was found
  std::string data_digest_;
  DeviceChoice device_;
  std::unique_ptr<ComputeLane> lane_;
  std::unique_ptr<NnContext> context_;
  std::unique_ptr<DevicePool> gpus_;  // null on a CPU
  SnapshotPool snapshots_;
  std::vector<std::size_t> shard_sizes_;
  std::uint64_t most_steps_ = 0;  // an epoch, of the largest shard
  std::vector<SimPeer> peers_;
  std::unique_ptr<SimHost> host_;
  std::chrono::steady_clock::time_point begin_;             // of run()
  double earlier_wall_s_ = 0.0, earlier_training_s_ = 0.0;  // of what was resumed
  std::vector<bool> alive_;
};

}  // namespace hearsay::runtime
