// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/handover.cuh"

#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "kernels/cuda/train_handle.cuh"

namespace hearsay::cuda {
namespace {

void choose(int device) { must(cudaSetDevice(device), "choosing GPU " + std::to_string(device)); }

// Gives the block back when the copy into it fails.
std::unique_ptr<HsCudaSnapshot> blank(SlotMerger& into, cudaStream_t writer) {
  auto made = std::make_unique<HsCudaSnapshot>(into.store());
  made->block = into.store()->take(writer);
  return made;
}

// cuMemGetAddressRange, by way of the runtime, which this library links.
std::size_t bytes_from(const void* begin) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  must(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &found, 12000, cudaEnableDefault,
                                        &status),
       "asking for the size of shared memory");
  if (status != cudaDriverEntryPointSuccess || found == nullptr)
    throw CudaFault("the driver does not tell the size of shared memory");
  const auto range = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t*, CUdeviceptr)>(found);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  const auto at = reinterpret_cast<CUdeviceptr>(begin);
  if (range(&base, &bytes, at) != CUDA_SUCCESS || base > at)
    throw CudaFault("the driver does not tell the size of shared memory");
  return bytes - static_cast<std::size_t>(at - base);
}

}  // namespace

Source::Source(SlotMerger& into) : into_(into), word_(1) {}

Source::~Source() {
  cudaSetDevice(into_.store()->device());
  cudaStreamSynchronize(stream_.get());
  for (const auto& [handle, opened] : opened_) cudaIpcCloseMemHandle(opened.begin);
  cudaGetLastError();  // of memory that is gone: nothing to be done
}

const Source::Opened& Source::open(const Handle& handle) {
  if (const auto found = opened_.find(handle); found != opened_.end()) return found->second;
  if (opened_.size() >= HS_CUDA_MOST_OPENED)
    throw CudaFault("too many pieces of another process's memory");
  cudaIpcMemHandle_t of{};
  std::memcpy(&of, handle.data(), handle.size());
  void* begin = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&begin, of, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) cudaGetLastError();  // no lasting one
  must(error, "opening another process's memory");
  Opened& opened = opened_[handle];
  opened.begin = static_cast<char*>(begin);
  opened.bytes = bytes_from(begin);
  return opened;
}

std::unique_ptr<HsCudaSnapshot> Source::take(const HsCudaTicket& ticket) {
  const std::shared_ptr<SnapshotStore>& store = into_.store();
  const std::size_t bytes = store->values() * sizeof(float);
  if (ticket.values != store->values()) throw CudaFault("a snapshot of another model");
  choose(store->device());
  Handle handle;
  std::copy(std::begin(ticket.memory), std::end(ticket.memory), handle.begin());
  const Opened& from = open(handle);
  const auto fits = [&](std::uint64_t at, std::size_t size, std::size_t alignment) {
    return at % alignment == 0 && size <= from.bytes && at <= from.bytes - size;
  };
  if (!fits(ticket.values_at, bytes, sizeof(float)) ||
      !fits(ticket.word_at, sizeof ticket.serial, sizeof ticket.serial))
    throw CudaFault("a ticket for memory that is not there");
  const cudaStream_t stream = stream_.get();
  auto made = blank(into_, stream);
  {  // after the block was free: whoever has read it has queued that
    const std::lock_guard lock(into_.recording());
    must(cudaEventRecord(queued_.get(), into_.stream()), "ordering snapshots");
  }
  must(cudaStreamWaitEvent(stream, queued_.get(), 0), "ordering snapshots");
  must(cudaMemcpyAsync(made->block->device, from.begin + ticket.values_at, bytes, cudaMemcpyDefault,
                       stream),
       "copying a snapshot of another process");
  must(cudaMemcpyAsync(word_.data(), from.begin + ticket.word_at, sizeof ticket.serial,
                       cudaMemcpyDefault, stream),
       "copying a snapshot of another process");
  store->filled(*made->block, made->serial, stream);
  must(cudaStreamSynchronize(stream), "copying a snapshot of another process");
  if (word_[0] != ticket.serial) throw CudaFault("the weights are not there any more");
  return made;
}

}  // namespace hearsay::cuda

using hearsay::cuda::guarded;

struct HsCudaSource {
  explicit HsCudaSource(HsCudaTrainer* trainer) : source(trainer->trainer.merger()) {}
  hearsay::cuda::Source source;
};

extern "C" {

int hs_cuda_handover_begin(HsCudaTrainer* trainer) {
  return guarded([&] { trainer->trainer.merger().store()->keep_words(); });
}

int hs_cuda_snapshot_ticket(HsCudaSnapshot* snapshot, HsCudaTicket* ticket) {
  return guarded([&] {
    if (!snapshot->store->keeps_words())
      throw hearsay::cuda::CudaFault("this snapshot is not for other processes");
    *ticket = snapshot->store->ticket(*snapshot->block, snapshot->serial);
  });
}

int hs_cuda_source_create(HsCudaTrainer* trainer, HsCudaSource** source) {
  return guarded([&] {
    hearsay::cuda::choose(trainer->trainer.merger().store()->device());
    *source = new HsCudaSource(trainer);
  });
}

void hs_cuda_source_destroy(HsCudaSource* source) { delete source; }

int hs_cuda_source_take(HsCudaSource* source, const HsCudaTicket* ticket, HsCudaSnapshot** made) {
  return guarded([&] { *made = source->source.take(*ticket).release(); });
}

}  // extern "C"
