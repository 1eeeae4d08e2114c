// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_pool.hpp"

#include <utility>

namespace hearsay::runtime {

DevicePool::DevicePool(const DeviceChoice& choice, const NnContext& context, std::size_t peers,
                       std::size_t batch, const OptimizerOptions& optimizer) {
  const std::size_t gpus = choice.gpus.size();
  for (std::size_t g = 0; g < gpus && g < peers; ++g) {
    const std::size_t slots = (peers - g + gpus - 1) / gpus;
    groups_.push_back(
        std::make_unique<DeviceGroup>(choice.gpus[g], context, slots, batch, optimizer));
  }
}

std::unique_ptr<DeviceTrainer> DevicePool::make_trainer(NnContext& context, ImageSet shard,
                                                        const NnTrainerOptions& options,
                                                        std::size_t place) {
  return std::make_unique<DeviceTrainer>(context, std::move(shard), options, group_of(place),
                                         place / groups_.size());
}

void DevicePool::keep_test_set(const ImageSet& test) {
  for (const auto& group : groups_) group->keep_test_set(test);
}

}  // namespace hearsay::runtime
