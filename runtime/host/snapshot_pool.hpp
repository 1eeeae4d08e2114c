// SPDX-License-Identifier: Apache-2.0
// Recycles snapshot buffers of equal size: a model's worth of fresh pages per merge would cost more
// than the merge. Copies share one pool. Snapshots may outlive it and may be made and freed on any
// thread. Cost: one lock per snapshot.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "merge/snapshot.hpp"

namespace hearsay::runtime {

class SnapshotPool {
 public:
  merge::SnapshotRef copy(std::span<const float> values);
  // For whoever fills it before sharing it; the values are whatever was there before.
  std::shared_ptr<merge::Snapshot> blank(std::size_t count);

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<kernels::Buffer<float>> free;
  };
  static constexpr std::size_t kMostFree = 64;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace hearsay::runtime
