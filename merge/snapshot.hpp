// SPDX-License-Identifier: Apache-2.0
// An immutable copy of a peer's flat parameters, taken between two mini-batches. Shared by the
// frame that carries it, the exchange that waits for its answer and the merge that reads it; freed
// with the last of them. The values are in host memory, or where the peer trains, or in both.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/core/buffer.hpp"

namespace hearsay::merge {

// A snapshot's values in the memory of a device. Made on the compute lane; freed on any thread.
class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;
  virtual std::size_t size() const = 0;
  // In host memory: copied there the first time, good as long as this object lives. Waits for the
  // device. Any thread.
  virtual std::span<const float> host() = 0;
};

struct Snapshot {
  kernels::Buffer<float> values;  // empty where only the device has them
  // Of a snapshot in host memory: made by the first merge on a device. Compute lane.
  mutable std::shared_ptr<DeviceCopy> on_device;

  std::size_t size() const noexcept {
    return values.size() > 0 || !on_device ? values.size() : on_device->size();
  }
  // Costs a copy of 4 B a value the first time where only a device has them.
  std::span<const float> span() const {
    return values.size() > 0 || !on_device ? values.span() : on_device->host();
  }
};

using SnapshotRef = std::shared_ptr<const Snapshot>;

}  // namespace hearsay::merge
