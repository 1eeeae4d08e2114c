// SPDX-License-Identifier: Apache-2.0
// A thread that writes checkpoints, so that training does not wait for the disk. One at a time: who
// wants another waits for its turn, because one that is being written is not overtaken. Cost on the
// caller's side: a lock, and the copies that the checkpoint owns.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/checkpoint/checkpoint_store.hpp"

namespace hearsay::runtime {

class CheckpointLane {
 public:
  explicit CheckpointLane(CheckpointStore store);
  ~CheckpointLane();  // after the one that is being written
  CheckpointLane(const CheckpointLane&) = delete;
  CheckpointLane& operator=(const CheckpointLane&) = delete;

  struct Outcome {
    WrittenCheckpoint written;
    std::optional<std::string> failure;  // then nothing was written
  };
  bool busy() const;
  // While it is not busy. The checkpoint owns everything that it refers to.
  void begin(std::uint64_t least, Checkpoint checkpoint);
  // Once for each that was begun, when it is over.
  std::optional<Outcome> take_outcome();
  void wait();  // until it is not busy

 private:
  void run();

  CheckpointStore store_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Checkpoint> waiting_;
  std::uint64_t least_ = 0;
  std::optional<Outcome> outcome_;
  bool busy_ = false, closing_ = false;
  std::thread thread_;
};

}  // namespace hearsay::runtime
