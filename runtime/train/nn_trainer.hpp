// SPDX-License-Identifier: Apache-2.0
// Trains a network on one peer's shard on the CPU, one mini-batch a call, in the calling thread.
#pragma once

#include <vector>

#include "runtime/train/shard_trainer.hpp"

namespace hearsay::runtime {

class NnTrainer final : public ShardTrainer {
 public:
  NnTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options);

  gossip::StepReport train(std::size_t worker) override;
  gossip::StepReport train_gradient(std::size_t worker) override;
  void apply_gradient(float scale) override;
  std::span<float> weights() override { return weights_.span(); }
  std::span<const float> read_weights() override { return weights_.span(); }
  std::span<float> gradient() override { return gradient_.span(); }
  void state(gossip::Archive& archive) override;
  std::vector<std::pair<std::string_view, std::span<float>>> moments() override {
    return optimizer_.moments();
  }
  void take_optimizer(gossip::Archive& archive) override { archive("optimizer", optimizer_); }
  void skip_to(std::uint64_t steps) override;

 private:
  gossip::StepReport differentiate(std::size_t worker);

  std::vector<std::uint8_t> batch_labels_;
  std::vector<float> batch_weights_;
  kernels::Buffer<float> weights_, gradient_;  // gradient_ only once train_gradient() is used
  Optimizer optimizer_;
};

}  // namespace hearsay::runtime
