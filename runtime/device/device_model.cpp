// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_model.hpp"

#include <cmath>

namespace hearsay::runtime {

DeviceModel::DeviceModel(DeviceTrainer& trainer, SnapshotPool& pool, std::size_t worker,
                         bool track_blocks, Snapshots snapshots)
    : OwnModel(trainer, pool, worker),
      trainer_(trainer),
      track_blocks_(track_blocks),
      sends_(snapshots == Snapshots::go_out) {}

merge::SnapshotRef DeviceModel::snapshot() {
  return device().take(trainer_.slot_to_read(), sends_);
}

kernels::MergeStats DeviceModel::measure(const merge::Snapshot& in, const merge::Snapshot* base) {
  return device().measure(trainer_.slot_to_read(), in, base, has_mark_);
}

void DeviceModel::blend(double alpha, const merge::Snapshot& in, const merge::Snapshot* base) {
  device().blend(trainer_.slot_to_change(), static_cast<float>(alpha), in, base, has_mark_);
}

void DeviceModel::begin_block() {
  if (!track_blocks_) return;
  device().mark(trainer_.slot_to_read());
  has_mark_ = true;
}

double DeviceModel::block_displacement() {
  return has_mark_ ? std::sqrt(device().moved_sq(trainer_.slot_to_read())) : 0.0;
}

std::span<const float> DeviceModel::mark(kernels::Buffer<float>& room) {
  if (!has_mark_) return {};
  room = kernels::Buffer<float>(size());
  device().get_mark(trainer_.slot(), room.span());
  return room.span();
}

void DeviceModel::state(gossip::Archive& archive) {
  kernels::Buffer<float> mark(has_mark_ && !archive.loading() ? size() : 0);
  if (mark.size() > 0) device().get_mark(trainer_.slot(), mark.span());
  archive.array("mark", mark);
  if (!archive.loading()) return;
  has_mark_ = mark.size() > 0;
  if (!has_mark_) return;
  if (mark.size() != size()) archive.fail("mark", "is no model of this size");
  device().put_mark(trainer_.slot(), mark.span());
}

}  // namespace hearsay::runtime
