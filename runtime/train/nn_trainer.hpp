// SPDX-License-Identifier: Apache-2.0
// Trains an MLP on one peer's shard by mini-batches in a fresh order every epoch. The order is a
// pure function of (seed, peer, epoch). With a probe share, the last examples of a seeded shuffle
// are kept out of training.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/dataset.hpp"
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

class NnTrainer final : public Trainer {
 public:
  NnTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options);

  gossip::StepReport train(std::size_t worker) override;
  gossip::StepReport train_gradient(std::size_t worker) override;
  void apply_gradient(float scale) override;
  std::span<float> weights() override { return weights_.span(); }
  std::span<float> gradient() override { return gradient_.span(); }
  gossip::Probe probe(std::span<const float> weights, std::size_t worker) override;
  void flip_labels(bool flipped) override { flipped_ = flipped; }
  std::vector<double> probe_losses(std::span<const float> weights, std::size_t worker) override;
  std::uint64_t examples() const override { return order_.size(); }
  std::uint64_t steps_per_epoch() const override { return steps_per_epoch_; }
  void state(gossip::Archive& archive) override;
  std::vector<std::pair<std::string_view, std::span<float>>> moments() override {
    return optimizer_.moments();
  }
  void take_optimizer(gossip::Archive& archive) override { archive("optimizer", optimizer_); }
  void skip_to(std::uint64_t steps) override;
  const ImageSet& shard() const noexcept { return shard_; }

 private:
  std::size_t load_batch(std::size_t worker);  // returns its size
  kernels::LossSums pass_probe(std::span<const float> weights, std::size_t worker, double* losses);
  gossip::StepReport differentiate(std::size_t worker);
  double lr_factor() const;

  NnContext& context_;
  ImageSet shard_;
  NnTrainerOptions options_;
  std::vector<std::uint32_t> order_, probe_;
  std::size_t cursor_ = 0;
  std::vector<std::uint8_t> batch_labels_;
  bool flipped_ = false;
  kernels::Rng shuffle_;
  std::uint64_t passes_ = 0;  // over the shard, begun
  std::uint64_t steps_ = 0, steps_per_epoch_;
  kernels::Buffer<float> weights_, gradient_;  // gradient_ only once train_gradient() is used
  Optimizer optimizer_;
};

}  // namespace hearsay::runtime
