// SPDX-License-Identifier: Apache-2.0
// What training on a shard needs wherever the numbers are: the order of the data, the schedule, the
// probe set. NnTrainer computes on a CPU, DeviceTrainer on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/dataset.hpp"
#include "runtime/train/mini_batches.hpp"
#include "runtime/train/nn_context.hpp"
#include "runtime/train/optimizer.hpp"
#include "runtime/train/schedule.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

struct NnTrainerOptions {
  std::uint64_t seed = 0;
  std::uint32_t peer = 0;
  std::uint32_t batch = 32;
  std::uint32_t epochs = 1;  // horizon of the schedule
  std::uint64_t steps_per_epoch =
      0;  // 0: ceil(examples / batch); larger values begin a new pass in mid-epoch
  OptimizerOptions optimizer;
  ScheduleKind schedule = ScheduleKind::cosine;
  double probe_share = 0.0;  // of the shard
};

class ShardTrainer : public Trainer {
 public:
  ShardTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options);

  gossip::Probe probe(std::span<const float> weights, std::size_t worker) override;
  std::vector<double> probe_losses(std::span<const float> weights, std::size_t worker) override;
  void flip_labels(bool flipped) override { flipped_ = flipped; }
  std::uint64_t examples() const override { return batches_.examples(); }
  std::uint64_t steps_per_epoch() const override { return steps_per_epoch_; }
  const ImageSet& shard() const noexcept { return shard_; }

 protected:
  NnContext& context() { return context_; }
  const NnTrainerOptions& options() const { return options_; }
  std::uint8_t label_of(std::uint32_t example) const;
  double lr_factor() const;  // of the step that comes now
  gossip::StepReport report(std::size_t samples, const kernels::LossSums& sums) const;
  // The weights with which every peer of a run begins.
  void initialise(std::span<float> weights) const;
  void data_state(gossip::Archive& archive);

  MiniBatches batches_;
  std::uint64_t steps_ = 0;

 private:
  kernels::LossSums pass_probe(std::span<const float> weights, std::size_t worker, double* losses);

  NnContext& context_;
  ImageSet shard_;
  NnTrainerOptions options_;
  std::uint64_t steps_per_epoch_;
  bool flipped_ = false;
};

}  // namespace hearsay::runtime
