// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/snapshot_pool.hpp"

#include <algorithm>
#include <utility>

namespace hearsay::runtime {

std::shared_ptr<merge::Snapshot> SnapshotPool::blank(std::size_t count) {
  auto snapshot = std::make_unique<merge::Snapshot>();
  {
    const std::lock_guard lock(shelf_->mutex);
    auto& free = shelf_->free;
    const auto found =
        std::find_if(free.rbegin(), free.rend(), [&](const auto& b) { return b.size() == count; });
    if (found != free.rend()) {
      std::swap(*found, free.back());
      snapshot->values = std::move(free.back());
      free.pop_back();
    }
  }
  if (snapshot->values.size() != count) snapshot->values = kernels::Buffer<float>(count);
  const auto put_back = [shelf = shelf_](merge::Snapshot* old) {
    const std::unique_ptr<merge::Snapshot> owned(old);
    const std::lock_guard lock(shelf->mutex);
    if (shelf->free.size() < kMostFree) shelf->free.push_back(std::move(owned->values));
  };
  return std::shared_ptr<merge::Snapshot>(snapshot.release(), put_back);
}

merge::SnapshotRef SnapshotPool::copy(std::span<const float> values) {
  auto snapshot = blank(values.size());
  std::copy(values.begin(), values.end(), snapshot->values.data());
  return snapshot;
}

}  // namespace hearsay::runtime
