// SPDX-License-Identifier: Apache-2.0
// Device memory for snapshots of one trainer's slots, recycled: blocks are cut from slabs that are
// kept until the store goes, so a run allocates only while it has more snapshots alive than ever
// before. Shared by the trainer and its snapshots; it goes with the last of them.
//
// Streams are ordered by two events of a block. `written`: the trainer's stream has filled it.
// `read`: all copies out of it so far, to host memory or to another device, are through; whoever
// fills it next lets its stream wait for that. So a block may be given back on any thread while a
// copy is still under way, and no thread waits but one that wants bytes in host memory.
//
// Blocks can be read by other processes of the host (handover_api.h), which no event of this one
// orders. So each has a word beside it that names the snapshot whose values it holds, 0 while they
// are written: who reads values and then finds the word unchanged has read them whole.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/handover_api.h"

namespace hearsay::cuda {

struct SnapshotBlock {
  float* device = nullptr;  // in a slab
  std::size_t slab = 0;
  unsigned long long* word = nullptr;  // on the device: serial of the snapshot
  PinnedMemory<float> host;            // made when first asked for, then recycled too
  Event written, read;
  bool was_read = false;  // `read` has been recorded
  bool is_down = false;   // the copy to `host` has begun
};

class SnapshotStore {
 public:
  // `stride`: floats from block to block, at least `values` and a multiple of 64.
  SnapshotStore(int device, std::size_t values, std::size_t stride);
  ~SnapshotStore();
  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;

  int device() const noexcept { return device_; }
  std::size_t values() const noexcept { return values_; }

  // From now on words are kept up to date: two launches a snapshot. Before that there are no
  // tickets.
  void keep_words();
  bool keeps_words() const noexcept { return keeps_words_; }
  // A block for `writer`, which fills it next. The store's device is the current one.
  std::unique_ptr<SnapshotBlock> take(cudaStream_t writer);
  void filled(SnapshotBlock& block, unsigned long long serial, cudaStream_t writer);
  // Any thread. Null: nothing.
  void give_back(std::unique_ptr<SnapshotBlock> block) noexcept;

  void begin_download(SnapshotBlock& block);  // once; any thread, as the next
  const float* host(SnapshotBlock& block);    // waits
  // `fetched` comes after the last copy out of the block by a stream of another trainer.
  void lent(SnapshotBlock& block, cudaEvent_t fetched);

  // For another process; waits until the block is filled. Any thread.
  HsCudaTicket ticket(const SnapshotBlock& block, unsigned long long serial);

 private:
  struct Slab {
    DeviceMemory<float> memory;
    bool has_handle = false;
    cudaIpcMemHandle_t handle{};
  };
  void grow();
  void record_read(SnapshotBlock& block);

  int device_;
  std::size_t values_, stride_;
  std::atomic<bool> keeps_words_{false};
  std::mutex mutex_;  // of all below, and of the state of blocks
  std::vector<Slab> slabs_;
  std::size_t made_ = 0;  // blocks
  std::vector<std::unique_ptr<SnapshotBlock>> free_;
  Stream down_;  // copies to host memory; every `read` is recorded here, one after the other
};

}  // namespace hearsay::cuda

// Behind the handle of snapshot_api.h.
struct HsCudaSnapshot {
  explicit HsCudaSnapshot(std::shared_ptr<hearsay::cuda::SnapshotStore> of);
  ~HsCudaSnapshot() { store->give_back(std::move(block)); }
  HsCudaSnapshot(const HsCudaSnapshot&) = delete;
  HsCudaSnapshot& operator=(const HsCudaSnapshot&) = delete;

  std::shared_ptr<hearsay::cuda::SnapshotStore> store;
  std::unique_ptr<hearsay::cuda::SnapshotBlock> block;
  unsigned long long serial;  // tells it from all others of the process, those gone included
};
