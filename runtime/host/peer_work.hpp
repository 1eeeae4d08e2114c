// SPDX-License-Identifier: Apache-2.0
// Everything that one live peer works with, made from the configuration: its shard, trainer, model
// and protocol, and the test set as it sees it. The same parts and seeds as a peer of a simulation.
// Invariant: of the training set only the own shard stays in memory. Compute lane.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/partition.hpp"
#include "runtime/device/device_pool.hpp"
#include "runtime/examples/tally.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/own_model.hpp"
#include "runtime/host/peer_place.hpp"
#include "runtime/net/handover.hpp"
#include "runtime/train/evaluate.hpp"
#include "runtime/train/shard_trainer.hpp"

namespace hearsay::runtime {

class PeerWork {
 public:
  // Throws UsageError or DamagedFile, as the parts do.
  PeerWork(const RunConfig& config, kernels::PeerId self, SnapshotPool snapshots);
  void take(const PeerPlace& place);  // makes the protocol; before that there is none
  // Then, where examples change hands: what earlier starts had written down. False when a line is
  // none of this peer's.
  bool recollect(std::span<const std::string> written);

  Trainer& trainer() { return *trainer_; }
  OwnModel& model() { return *model_; }
  gossip::Protocol& protocol() { return *protocol_; }
  const gossip::Protocol& protocol() const { return *protocol_; }
  const gossip::Counters& counters() const { return protocol_->counters(); }
  SnapshotPool& snapshots() { return snapshots_; }
  const kernels::Layout& layout() const { return context_->model().layout(); }
  std::size_t shard_examples() const { return shard_examples_; }
  const std::string& device() const { return device_.text; }       // "cpu", "cuda:0 NVIDIA H200"
  const std::string& device_note() const { return device_.note; }  // one line, or empty
  bool on_gpu() const { return device_.on_gpu(); }
  const std::string& data_digest() const { return data_digest_; }
  const gossip::CodecPlan* codec() const { return codec_.get(); }  // null: weights as they are
  std::uint32_t sketch_values() const { return sketch_values_; }   // 0: it shares none
  std::size_t example_bytes() const { return example_bytes_; }     // of one passed on; 0: none is
  ExampleTally tally() const;
  // How its weights go to other processes of the host without a socket; null: they do not. It
  // borrows from this.
  std::shared_ptr<Handover> make_handover();
  // The first `limit` test examples (0 = all), labels rotated as the own ones.
  Evaluation evaluate(std::span<const float> weights, std::size_t limit);

 private:
  void make_trainer(const PoolPlan& plan, const Dataset& dataset, const NnTrainerOptions& options);

  RunConfig config_;
  kernels::PeerId self_;
  Partition partition_;
  ImageSet test_;
  std::vector<std::uint8_t> wrong_labels_;  // [id], where the result is to say who was found
  std::string data_digest_;
  std::size_t shard_examples_ = 0;
  DeviceChoice device_;
  std::unique_ptr<NnContext> context_;
  std::shared_ptr<const gossip::CodecPlan> codec_;
  std::uint32_t sketch_values_ = 0;
  std::size_t example_bytes_ = 0;
  // Where examples change hands: the training set, and what the split has given this peer.
  std::unique_ptr<const ImageSet> train_;
  std::vector<std::uint32_t> own_ids_;
  std::vector<std::uint8_t> own_labels_;
  std::unique_ptr<DevicePool> gpu_;  // null on a CPU
  SnapshotPool snapshots_;
  std::unique_ptr<ShardTrainer> trainer_;
  std::unique_ptr<OwnModel> model_;
  std::unique_ptr<gossip::Protocol> protocol_;
};

}  // namespace hearsay::runtime
