// SPDX-License-Identifier: Apache-2.0
// Snapshots, statistics, blends and block marks of the models in a trainer's slots: the object
// behind snapshot_api.h. Everything is queued on the trainer's stream, so it stands in order with
// the steps; only what has a result for the host waits. Memory for marks and for snapshots of other
// trainers is taken the first time that it is needed: a slot each, and two slots.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/snapshot_store.cuh"
#include "kernels/cuda/vector_api.h"

namespace hearsay::cuda {

// Flat fp32 models, `stride` floats from one to the next.
struct SlotArrays {
  float* first;
  std::size_t slots, size, stride;
};

class SlotMerger {
 public:
  SlotMerger(int device, cudaStream_t stream, const SlotArrays& weights);

  std::unique_ptr<HsCudaSnapshot> take(std::size_t slot, bool sends);
  std::unique_ptr<HsCudaSnapshot> upload(const float* host);  // reads `host` before it returns
  HsMergeStats measure(std::size_t slot, const HsCudaSnapshot& in, const HsCudaSnapshot* base,
                       bool with_mark);
  void blend(std::size_t slot, float alpha, const HsCudaSnapshot& in, const HsCudaSnapshot* base,
             bool with_mark);
  void mark(std::size_t slot);
  double moved_sq(std::size_t slot);
  void put_mark(std::size_t slot, const float* host);
  void get_mark(std::size_t slot, float* host);

  const std::shared_ptr<SnapshotStore>& store() const noexcept { return store_; }
  cudaStream_t stream() const noexcept { return stream_; }
  // Held while the stream is recorded into a graph, and by whoever uses it on another thread.
  std::mutex& recording() noexcept { return recording_; }

 private:
  // A snapshot of another trainer, brought here. Kept until another one comes: a merge measures and
  // then blends the same.
  struct Fetched {
    DeviceMemory<float> values;
    unsigned long long serial = 0;
  };
  // Where the kernels write what the host waits for.
  struct Results {
    HsMergeStats stats;
    double moved_sq;
  };

  void use() const;
  void wait() const;
  void copy(void* to, const void* from, cudaMemcpyKind kind) const;
  float* weights(std::size_t slot) const;
  float* mark_of(std::size_t slot);
  std::unique_ptr<HsCudaSnapshot> new_snapshot();
  const float* reach(const HsCudaSnapshot& from, Fetched& here);
  bool is_far(const HsCudaSnapshot& in) const;
  void blend_arriving(float alpha, float* w, const HsCudaSnapshot& in, const float* base,
                      float* mark);
  void blend_part(float alpha, float* w, const float* in, const float* base, float* mark,
                  std::size_t n) const;
  void open_way_to(int device);

  int device_;
  cudaStream_t stream_;
  SlotArrays weights_;
  std::shared_ptr<SnapshotStore> store_;
  DeviceMemory<float> marks_;
  DeviceMemory<unsigned char> workspace_;  // of sums
  PinnedMemory<Results> results_;
  Fetched fetched_in_, fetched_base_;
  Event fetched_;    // the last copy from another trainer
  Stream arrivals_;  // copies of a model that is merged while it comes
  Event ready_;      // what the copies may write over has been read
  std::mutex recording_;
  std::vector<int> ways_;  // devices that have been asked for peer access
};

}  // namespace hearsay::cuda
