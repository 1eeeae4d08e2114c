// SPDX-License-Identifier: Apache-2.0
// A trainer that does not learn: its "model" is a vector and a mini-batch leaves it alone. For
// everything that is about mixing alone: contraction rates, mass conservation, pools of thousands.
#pragma once

#include "kernels/core/buffer.hpp"
#include "kernels/core/rng.hpp"
#include "runtime/train/trainer.hpp"

namespace hearsay::runtime {

class VectorTrainer : public Trainer {
 public:
  // Standard normal values from Rng::stream(seed, "vector", peer). One mini-batch of one sample is
  // an epoch.
  VectorTrainer(std::size_t size, std::uint64_t seed, std::uint32_t peer);

  gossip::StepReport train(std::size_t) override { return {1, 0.0, 0, 0.0}; }
  gossip::StepReport train_gradient(std::size_t) override;
  void apply_gradient(float) override {}
  std::span<float> weights() override { return values_.span(); }
  std::span<float> gradient() override { return gradient_.span(); }
  gossip::Probe probe(std::span<const float>, std::size_t) override { return {}; }
  std::uint64_t examples() const override { return 1; }
  std::uint64_t steps_per_epoch() const override { return 1; }
  void state(gossip::Archive&) override {}
  std::vector<std::pair<std::string_view, std::span<float>>> moments() override { return {}; }
  void take_optimizer(gossip::Archive&) override {}
  void skip_to(std::uint64_t) override {}

 private:
  kernels::Buffer<float> values_, gradient_;
};

}  // namespace hearsay::runtime
