// SPDX-License-Identifier: Apache-2.0
// The object behind HsCudaSource: memory of another process as this one sees it, and the stream of
// the copies out of it. A copy goes into a free block of the trainer's store, which the trainer may
// still be reading on its own stream; so the copy waits for what has been queued there.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "kernels/cuda/slot_merger.cuh"

namespace hearsay::cuda {

class Source {
 public:
  explicit Source(SlotMerger& into);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::unique_ptr<HsCudaSnapshot> take(const HsCudaTicket& ticket);

 private:
  using Handle = std::array<unsigned char, sizeof(HsCudaTicket::memory)>;
  // Of a slab: opened once, with its size, beyond which no ticket may point.
  struct Opened {
    char* begin = nullptr;
    std::size_t bytes = 0;
  };
  const Opened& open(const Handle& handle);

  SlotMerger& into_;
  Stream stream_;
  Event queued_;  // what the trainer has queued
  PinnedMemory<unsigned long long> word_;
  std::map<Handle, Opened> opened_;
};

}  // namespace hearsay::cuda
