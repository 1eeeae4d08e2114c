// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/checkpoint_lane.hpp"

#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {

CheckpointLane::CheckpointLane(CheckpointStore store)
    : store_(std::move(store)), thread_([this] { run(); }) {}

CheckpointLane::~CheckpointLane() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool CheckpointLane::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void CheckpointLane::begin(std::uint64_t least, Checkpoint checkpoint) {
  {
    const std::lock_guard lock(mutex_);
    HS_CHECK(!busy_);
    waiting_ = std::move(checkpoint);
    least_ = least;
    busy_ = true;
  }
  changed_.notify_all();
}

std::optional<CheckpointLane::Outcome> CheckpointLane::take_outcome() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

void CheckpointLane::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
}

void CheckpointLane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || closing_; });
    if (!waiting_) return;
    const std::uint64_t least = least_;
    Outcome outcome;
    {
      const Checkpoint checkpoint = *std::exchange(waiting_, std::nullopt);
      lock.unlock();
      try {
        outcome.written = store_.write(least, checkpoint);
      } catch (const kernels::Fault& fault) {
        outcome.failure = fault.what();
      }
    }  // its copies are given back before it counts as over
    lock.lock();
    outcome_ = std::move(outcome);
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace hearsay::runtime
