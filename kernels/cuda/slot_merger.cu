// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/slot_merger.cuh"

#include <algorithm>

#include "kernels/cuda/merge_api.h"

namespace hearsay::cuda {
namespace {

// Values of a part: the first is merged while the second comes. 32 MiB take 80 us over NVLink.
constexpr std::size_t kPart = std::size_t{1} << 23;

void must_run(int error, const char* what) { must(static_cast<cudaError_t>(error), what); }

}  // namespace

SlotMerger::SlotMerger(int device, cudaStream_t stream, const SlotArrays& weights)
    : device_(device),
      stream_(stream),
      weights_(weights),
      store_(std::make_shared<SnapshotStore>(device, weights.size, weights.stride)),
      workspace_(hs_cuda_sums_workspace_bytes(weights.size)),
      results_(1) {}

void SlotMerger::use() const { must(cudaSetDevice(device_), "choosing the GPU"); }
void SlotMerger::wait() const { must(cudaStreamSynchronize(stream_), "waiting for the GPU"); }

void SlotMerger::copy(void* to, const void* from, cudaMemcpyKind kind) const {
  must(cudaMemcpyAsync(to, from, weights_.size * sizeof(float), kind, stream_),
       "copying a model on, to or from the GPU");
}

float* SlotMerger::weights(std::size_t slot) const {
  if (slot >= weights_.slots) throw CudaFault("there is no such slot");
  return weights_.first + slot * weights_.stride;
}

float* SlotMerger::mark_of(std::size_t slot) {
  if (slot >= weights_.slots) throw CudaFault("there is no such slot");
  if (marks_.size() == 0) marks_ = DeviceMemory<float>(weights_.slots * weights_.stride);
  return marks_.data() + slot * weights_.stride;
}

std::unique_ptr<HsCudaSnapshot> SlotMerger::new_snapshot() {
  auto made = std::make_unique<HsCudaSnapshot>(store_);
  made->block = store_->take(stream_);
  return made;
}

std::unique_ptr<HsCudaSnapshot> SlotMerger::take(std::size_t slot, bool sends) {
  use();
  const float* const from = weights(slot);
  auto made = new_snapshot();
  copy(made->block->device, from, cudaMemcpyDeviceToDevice);
  store_->filled(*made->block, made->serial, stream_);
  if (sends) store_->begin_download(*made->block);
  return made;
}

std::unique_ptr<HsCudaSnapshot> SlotMerger::upload(const float* host) {
  use();
  auto made = new_snapshot();
  copy(made->block->device, host, cudaMemcpyHostToDevice);
  store_->filled(*made->block, made->serial, stream_);
  wait();  // `host` is the caller's
  return made;
}

// Between devices without peer access the driver goes through host memory by itself.
void SlotMerger::open_way_to(int device) {
  if (device == device_ || std::count(ways_.begin(), ways_.end(), device) > 0) return;
  ways_.push_back(device);
  int can = 0;
  must(cudaDeviceCanAccessPeer(&can, device_, device), "asking for peer access");
  if (can == 0) return;
  const cudaError_t error = cudaDeviceEnablePeerAccess(device, 0);
  if (error != cudaSuccess) cudaGetLastError();  // is open already, or the slow way is left
}

const float* SlotMerger::reach(const HsCudaSnapshot& from, Fetched& here) {
  if (from.store->values() != weights_.size) throw CudaFault("a snapshot is of another model");
  if (from.store == store_) return from.block->device;
  if (here.serial == from.serial) return here.values.data();
  if (here.values.size() == 0) here.values = DeviceMemory<float>(weights_.stride);
  const int there = from.store->device();
  open_way_to(there);
  here.serial = 0;
  must(cudaStreamWaitEvent(stream_, from.block->written.get(), 0), "ordering snapshots");
  if (there == device_) {
    copy(here.values.data(), from.block->device, cudaMemcpyDeviceToDevice);
  } else {
    must(cudaMemcpyPeerAsync(here.values.data(), device_, from.block->device, there,
                             weights_.size * sizeof(float), stream_),
         "copying a snapshot between GPUs");
  }
  must(cudaEventRecord(fetched_.get(), stream_), "ordering snapshots");
  from.store->lent(*from.block, fetched_.get());
  use();  // lent() has chosen the other one
  here.serial = from.serial;
  return here.values.data();
}

HsMergeStats SlotMerger::measure(std::size_t slot, const HsCudaSnapshot& in,
                                 const HsCudaSnapshot* base, bool with_mark) {
  use();
  const float* const w = weights(slot);
  const float* const mark = with_mark ? mark_of(slot) : nullptr;
  const float* const d_in = reach(in, fetched_in_);
  const float* const d_base = base != nullptr ? reach(*base, fetched_base_) : nullptr;
  must_run(hs_cuda_merge_stats(w, d_in, d_base, mark, weights_.size, workspace_.data(),
                               &results_[0].stats, stream_),
           "statistics of a merge");
  wait();
  return results_[0].stats;
}

void SlotMerger::blend(std::size_t slot, float alpha, const HsCudaSnapshot& in,
                       const HsCudaSnapshot* base, bool with_mark) {
  use();
  float* const w = weights(slot);
  float* const mark = with_mark ? mark_of(slot) : nullptr;
  const float* const d_base = base != nullptr ? reach(*base, fetched_base_) : nullptr;
  if (is_far(in)) return blend_arriving(alpha, w, in, d_base, mark);
  blend_part(alpha, w, reach(in, fetched_in_), d_base, mark, weights_.size);
}

void SlotMerger::blend_part(float alpha, float* w, const float* in, const float* base, float* mark,
                            std::size_t n) const {
  must_run(mark != nullptr ? hs_cuda_merge_blend_mark(alpha, w, in, base, mark, n, stream_)
                           : hs_cuda_merge_blend(alpha, w, in, base, n, stream_),
           "a merge");
}

// On another device, not here yet, and large enough to be merged part by part.
bool SlotMerger::is_far(const HsCudaSnapshot& in) const {
  return in.store != store_ && in.store->device() != device_ &&
         in.store->values() == weights_.size && fetched_in_.serial != in.serial &&
         weights_.size >= 2 * kPart;
}

// The link is what a merge across devices waits for: the memory's work hides behind it. Blends go
// value by value, so that parts give the bits of the whole.
void SlotMerger::blend_arriving(float alpha, float* w, const HsCudaSnapshot& in, const float* base,
                                float* mark) {
  if (fetched_in_.values.size() == 0) fetched_in_.values = DeviceMemory<float>(weights_.stride);
  const int there = in.store->device();
  open_way_to(there);
  fetched_in_.serial = 0;
  must(cudaEventRecord(ready_.get(), stream_), "ordering snapshots");
  must(cudaStreamWaitEvent(arrivals_.get(), ready_.get(), 0), "ordering snapshots");
  must(cudaStreamWaitEvent(arrivals_.get(), in.block->written.get(), 0), "ordering snapshots");
  for (std::size_t at = 0; at < weights_.size; at += kPart) {
    const std::size_t n = std::min(kPart, weights_.size - at);
    float* const here = fetched_in_.values.data() + at;
    must(cudaMemcpyPeerAsync(here, device_, in.block->device + at, there, n * sizeof(float),
                             arrivals_.get()),
         "copying a snapshot between GPUs");
    must(cudaEventRecord(fetched_.get(), arrivals_.get()), "ordering snapshots");
    must(cudaStreamWaitEvent(stream_, fetched_.get(), 0), "ordering snapshots");
    blend_part(alpha, w + at, here, base != nullptr ? base + at : nullptr,
               mark != nullptr ? mark + at : nullptr, n);
  }
  in.store->lent(*in.block, fetched_.get());
  use();  // lent() has chosen the other one
  fetched_in_.serial = in.serial;
}

void SlotMerger::mark(std::size_t slot) {
  use();
  copy(mark_of(slot), weights(slot), cudaMemcpyDeviceToDevice);
}

double SlotMerger::moved_sq(std::size_t slot) {
  use();
  must_run(hs_cuda_squared_distance(weights(slot), mark_of(slot), weights_.size, workspace_.data(),
                                    &results_[0].moved_sq, stream_),
           "a block's displacement");
  wait();
  return results_[0].moved_sq;
}

void SlotMerger::put_mark(std::size_t slot, const float* host) {
  use();
  copy(mark_of(slot), host, cudaMemcpyHostToDevice);
  wait();
}

void SlotMerger::get_mark(std::size_t slot, float* host) {
  use();
  copy(host, mark_of(slot), cudaMemcpyDeviceToHost);
  wait();
}

}  // namespace hearsay::cuda
