// SPDX-License-Identifier: Apache-2.0
// Trains one peer's model in a slot of a GPU. Weights, optimiser state and gradient live there;
// whoever asks for them gets a copy in host memory, which goes back before the next mini-batch or
// merge if it may have been changed. Cost of such a look: 4 B a value down, and up after a change.
#pragma once

#include <vector>

#include "runtime/device/device_group.hpp"
#include "runtime/train/shard_trainer.hpp"

namespace hearsay::runtime {

class DeviceTrainer final : public ShardTrainer {
 public:
  DeviceTrainer(NnContext& context, ImageSet shard, const NnTrainerOptions& options,
                DeviceGroup& group, std::size_t slot);

  gossip::StepReport train(std::size_t worker) override;
  gossip::StepReport train_gradient(std::size_t worker) override;
  void apply_gradient(float scale) override;
  std::span<float> weights() override;
  std::span<const float> read_weights() override;
  std::span<float> gradient() override { return gradient_.span(); }
  void state(gossip::Archive& archive) override;
  std::vector<std::pair<std::string_view, std::span<float>>> moments() override;
  void take_optimizer(gossip::Archive& archive) override { archive("optimizer", updates_); }
  void skip_to(std::uint64_t steps) override;

  // A mini-batch in two halves, so that a lane can begin those of many slots at once: what to do,
  // good until finish(), and what came of it.
  HsCudaTrainJob prepare(bool only_gradient);
  gossip::StepReport finish(const HsCudaTrainSums& sums);
  DeviceGroup& group() const { return group_; }

  // Where the newest weights are on the device, for whoever reads or changes them there.
  std::size_t slot() const noexcept { return slot_; }
  std::size_t slot_to_read();
  std::size_t slot_to_change();

 private:
  struct Moment {
    DeviceGroup::Array where;
    std::string_view name;
    kernels::Buffer<float> host;
  };
  struct Updates {
    std::uint64_t count = 0;
    void state(gossip::Archive& archive) { archive("updates", count); }
  };
  enum class Newest { both, host, device };

  void send_changes();
  HsCudaTrainJob rates(HsCudaTrainJob job) const;

  DeviceGroup& group_;
  std::size_t slot_;
  std::uint64_t first_example_;
  std::span<float> weights_;  // host copy, page-locked
  Newest newest_weights_ = Newest::host, newest_moments_ = Newest::host;
  std::vector<Moment> moments_;
  kernels::Buffer<float> gradient_;  // only once train_gradient() is used
  Updates updates_;
  bool only_gradient_ = false;  // of the mini-batch begun
  std::vector<std::uint64_t> examples_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace hearsay::runtime
