// SPDX-License-Identifier: Apache-2.0
// The GPUs of a process and the peers on them: peer i trains on GPU i mod G, in slot i div G.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/device_choice.hpp"
#include "runtime/device/device_trainer.hpp"

namespace hearsay::runtime {

class DevicePool {
 public:
  DevicePool(const DeviceChoice& choice, const NnContext& context, std::size_t peers,
             std::size_t batch, const OptimizerOptions& optimizer);

  std::unique_ptr<DeviceTrainer> make_trainer(NnContext& context, ImageSet shard,
                                              const NnTrainerOptions& options, std::size_t place);
  DeviceGroup& group_of(std::size_t place) { return *groups_[place % groups_.size()]; }
  void keep_test_set(const ImageSet& test);
  std::size_t size() const noexcept { return groups_.size(); }

 private:
  std::vector<std::unique_ptr<DeviceGroup>> groups_;
};

}  // namespace hearsay::runtime
