// SPDX-License-Identifier: Apache-2.0
// An immutable copy of a peer's flat parameters, taken between two mini-batches. Shared by the
// frame that carries it, the exchange that waits for its answer and the merge that reads it; freed
// with the last of them.
#pragma once

#include <memory>
#include <span>

#include "kernels/core/buffer.hpp"

namespace hearsay::merge {

struct Snapshot {
  kernels::Buffer<float> values;
  std::span<const float> span() const noexcept { return values.span(); }
};

using SnapshotRef = std::shared_ptr<const Snapshot>;

}  // namespace hearsay::merge
