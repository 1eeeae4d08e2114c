// SPDX-License-Identifier: Apache-2.0
// Merges of weights in host memory. Keeps a mark of the weights at the start of the block and moves
// it along with every merge, so that the block's own displacement can be told from what came in.
// Cost: kernels/ops/merge_ops.hpp, on the caller's thread.
#pragma once

#include "kernels/core/buffer.hpp"
#include "runtime/host/own_model.hpp"

namespace hearsay::runtime {

class HostModel final : public OwnModel {
 public:
  // `track_blocks` = false saves the mark (and reports displacement 0).
  HostModel(Trainer& trainer, SnapshotPool& pool, std::size_t worker, bool track_blocks)
      : OwnModel(trainer, pool, worker), trainer_(trainer), track_blocks_(track_blocks) {}

  merge::SnapshotRef snapshot() override { return pool().copy(trainer_.read_weights()); }
  kernels::MergeStats measure(const merge::Snapshot& in, const merge::Snapshot* base) override;
  void blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) override;
  void begin_block() override;
  double block_displacement() override;
  void state(gossip::Archive& archive) override { archive.array("mark", mark_); }

 private:
  std::span<const float> mark(kernels::Buffer<float>&) override { return mark_.span(); }
  void forget_mark() override { mark_ = {}; }

  Trainer& trainer_;
  bool track_blocks_;
  kernels::Buffer<float> mark_;  // empty before the first block
};

}  // namespace hearsay::runtime
