// SPDX-License-Identifier: Apache-2.0
// Snapshots in the memory of a GPU, and the passes of a merge over them: one trainer's side of
// kernels/cuda/snapshot_api.h. Snapshots of other trainers and of host memory are taken as they
// come: the former are copied from GPU to GPU, the latter sent up once. Errors are Faults with one
// line.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "kernels/cuda/handover_api.h"
#include "kernels/cuda/snapshot_api.h"
#include "kernels/ops/merge_ops.hpp"
#include "merge/snapshot.hpp"

namespace hearsay::runtime {

class DeviceSnapshots {
 public:
  // `trainer` must outlive it, but not the snapshots.
  DeviceSnapshots(int gpu, HsCudaTrainer* trainer, std::size_t parameters);

  // Of a slot's weights. `sends`: their copy in host memory is begun at once.
  merge::SnapshotRef take(std::size_t slot, bool sends) const;
  // As merge_stats and merge_blend; base may be null.
  kernels::MergeStats measure(std::size_t slot, const merge::Snapshot& in,
                              const merge::Snapshot* base, bool with_mark) const;
  void blend(std::size_t slot, float alpha, const merge::Snapshot& in, const merge::Snapshot* base,
             bool with_mark) const;

  // The slot's mark: set to the weights, how far the weights are from it, from and to host memory.
  void mark(std::size_t slot) const;
  double moved_sq(std::size_t slot) const;
  void put_mark(std::size_t slot, std::span<const float> host) const;
  void get_mark(std::size_t slot, std::span<float> host) const;

  // Snapshots that are taken from now on can go to other processes of the host.
  void begin_handover() const;
  // Of one that has its values on the GPU alone, once they are there; none of others. Any thread.
  std::optional<HsCudaTicket> ticket(const merge::Snapshot& snapshot) const;
  merge::SnapshotRef adopt(HsCudaSnapshot* handle) const;  // any thread
  HsCudaTrainer* trainer() const noexcept { return trainer_; }

 private:
  HsCudaSnapshot* handle_of(const merge::Snapshot& snapshot) const;  // sends it up where need be
  std::shared_ptr<merge::DeviceCopy> owned(HsCudaSnapshot* handle) const;

  int gpu_;
  HsCudaTrainer* trainer_;
  std::size_t parameters_;
};

}  // namespace hearsay::runtime
