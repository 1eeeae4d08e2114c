// SPDX-License-Identifier: Apache-2.0
// Lets so many threads at a time through: a replay has a thread a peer, which mostly waits for
// others, and works on as many cores as it may. Cost: one lock a pass.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace hearsay::runtime {

class Turnstile {
 public:
  explicit Turnstile(std::size_t at_once) : free_(at_once) {}
  void enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_ > 0; });
    --free_;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t free_;
};

}  // namespace hearsay::runtime
