// SPDX-License-Identifier: Apache-2.0
// Merges of a peer that trains in a slot of a GPU, where its weights are: snapshots, statistics,
// blends and the mark of the block's start never leave the device. Bits are HostModel's. What a
// merge does not need (probes, digests, centres of crowds, adoption) reads the weights in host
// memory. Cost of a merge: 8 B a value of device traffic for the snapshot, 12 to measure, 20 to
// blend, and one wait for five numbers.
#pragma once

#include "runtime/device/device_trainer.hpp"
#include "runtime/host/own_model.hpp"

namespace hearsay::runtime {

class DeviceModel final : public OwnModel {
 public:
  // Whether snapshots go out as bytes: then their way to host memory begins when they are taken.
  enum class Snapshots { stay, go_out };
  DeviceModel(DeviceTrainer& trainer, SnapshotPool& pool, std::size_t worker, bool track_blocks,
              Snapshots snapshots);

  // Snapshots go out on the GPU mostly: bytes are copied when somebody wants them.
  void keep_on_device() { sends_ = false; }

  merge::SnapshotRef snapshot() override;
  kernels::MergeStats measure(const merge::Snapshot& in, const merge::Snapshot* base) override;
  void blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) override;
  void begin_block() override;
  double block_displacement() override;
  void state(gossip::Archive& archive) override;  // as HostModel's

 private:
  std::span<const float> mark(kernels::Buffer<float>& room) override;
  void forget_mark() override { has_mark_ = false; }
  const DeviceSnapshots& device() const { return trainer_.group().snapshots(); }

  DeviceTrainer& trainer_;
  bool track_blocks_;
  bool sends_;
  bool has_mark_ = false;  // false before the first block
};

}  // namespace hearsay::runtime
