// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/snapshot_store.cuh"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace hearsay::cuda {
namespace {

constexpr std::size_t kMostSlabBytes = std::size_t{64} << 20;

// What other processes open is a whole allocation; smaller ones share theirs with others.
constexpr std::size_t kAllocationBytes = std::size_t{2} << 20;
constexpr std::size_t kWordFloats = sizeof(unsigned long long) / sizeof(float);

__global__ void set_word(unsigned long long* word, unsigned long long serial) {
  *reinterpret_cast<volatile unsigned long long*>(word) = serial;
  __threadfence_system();
}

int chosen(int device) {
  must(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  return device;
}

}  // namespace

SnapshotStore::SnapshotStore(int device, std::size_t values, std::size_t stride)
    : device_(chosen(device)), values_(values), stride_(stride) {}

SnapshotStore::~SnapshotStore() {
  cudaSetDevice(device_);
  cudaStreamSynchronize(down_.get());  // page-locked memory goes next
}

// As many blocks as there are, so that a pool of n peers asks log n times.
void SnapshotStore::grow() {
  const std::size_t bytes = stride_ * sizeof(float);
  const std::size_t most = std::max<std::size_t>(1, kMostSlabBytes / bytes);
  const std::size_t count = std::clamp<std::size_t>(made_, 1, most);
  const std::size_t used = count * (stride_ + kWordFloats) * sizeof(float);
  const std::size_t whole = (used + kAllocationBytes - 1) / kAllocationBytes * kAllocationBytes;
  slabs_.push_back({DeviceMemory<float>(whole / sizeof(float))});
  float* const begin = slabs_.back().memory.data();
  auto* const words = reinterpret_cast<unsigned long long*>(begin + count * stride_);
  free_.reserve(made_ + count);  // giving back cannot fail
  for (std::size_t i = 0; i < count; ++i) {
    free_.push_back(std::make_unique<SnapshotBlock>());
    free_.back()->device = begin + i * stride_;
    free_.back()->slab = slabs_.size() - 1;
    free_.back()->word = words + i;
    ++made_;
  }
}

std::unique_ptr<SnapshotBlock> SnapshotStore::take(cudaStream_t writer) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) grow();
  std::unique_ptr<SnapshotBlock> block = std::move(free_.back());
  free_.pop_back();
  if (block->was_read) {
    const cudaError_t error = cudaStreamWaitEvent(writer, block->read.get(), 0);
    if (error != cudaSuccess) free_.push_back(std::move(block));
    must(error, "ordering snapshots");
  }
  block->was_read = block->is_down = false;
  if (keeps_words_) set_word<<<1, 1, 0, writer>>>(block->word, 0);
  return block;
}

void SnapshotStore::keep_words() { keeps_words_ = true; }

void SnapshotStore::filled(SnapshotBlock& block, unsigned long long serial, cudaStream_t writer) {
  if (keeps_words_) set_word<<<1, 1, 0, writer>>>(block.word, serial);
  must(cudaEventRecord(block.written.get(), writer), "ordering snapshots");
}

void SnapshotStore::give_back(std::unique_ptr<SnapshotBlock> block) noexcept {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(block));  // there is room: grow() has seen to it
}

void SnapshotStore::record_read(SnapshotBlock& block) {
  must(cudaEventRecord(block.read.get(), down_.get()), "ordering snapshots");
  block.was_read = true;
}

void SnapshotStore::begin_download(SnapshotBlock& block) {
  const std::lock_guard lock(mutex_);
  if (block.is_down) return;
  chosen(device_);  // of this thread, which may be new to CUDA
  if (block.host.data() == nullptr) block.host = PinnedMemory<float>(values_);
  must(cudaStreamWaitEvent(down_.get(), block.written.get(), 0), "ordering snapshots");
  must(cudaMemcpyAsync(block.host.data(), block.device, values_ * sizeof(float),
                       cudaMemcpyDeviceToHost, down_.get()),
       "copying a snapshot from the GPU");
  record_read(block);
  block.is_down = true;
}

const float* SnapshotStore::host(SnapshotBlock& block) {
  begin_download(block);
  must(cudaEventSynchronize(block.read.get()), "copying a snapshot from the GPU");
  return block.host.data();
}

void SnapshotStore::lent(SnapshotBlock& block, cudaEvent_t fetched) {
  const std::lock_guard lock(mutex_);
  must(cudaStreamWaitEvent(down_.get(), fetched, 0), "ordering snapshots");
  chosen(device_);
  record_read(block);
}

HsCudaTicket SnapshotStore::ticket(const SnapshotBlock& block, unsigned long long serial) {
  HsCudaTicket ticket{};
  static_assert(sizeof ticket.memory == sizeof(cudaIpcMemHandle_t));
  chosen(device_);
  must(cudaEventSynchronize(block.written.get()), "waiting for a snapshot");
  const std::lock_guard lock(mutex_);
  Slab& slab = slabs_[block.slab];
  if (!slab.has_handle) {
    must(cudaIpcGetMemHandle(&slab.handle, slab.memory.data()), "sharing GPU memory");
    slab.has_handle = true;
  }
  const auto offset = [&](const void* at) {
    return static_cast<uint64_t>(static_cast<const char*>(at) -
                                 reinterpret_cast<const char*>(slab.memory.data()));
  };
  std::memcpy(ticket.memory, &slab.handle, sizeof ticket.memory);
  ticket.values_at = offset(block.device);
  ticket.word_at = offset(block.word);
  ticket.serial = serial;
  ticket.values = values_;
  return ticket;
}

}  // namespace hearsay::cuda

HsCudaSnapshot::HsCudaSnapshot(std::shared_ptr<hearsay::cuda::SnapshotStore> of)
    : store(std::move(of)) {
  static std::atomic<unsigned long long> count{0};
  serial = ++count;
}
