// SPDX-License-Identifier: Apache-2.0
// A compute lane on threads - 1 helpers and the calling thread, which works while it waits. With
// one thread everything runs inside wait(), in order of need. Cost: O(1) a job, whatever waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/seams/compute_lane.hpp"

namespace hearsay::runtime {

class ThreadLane final : public ComputeLane {
 public:
  explicit ThreadLane(std::size_t threads);  // >= 1
  ~ThreadLane() override;
  ThreadLane(const ThreadLane&) = delete;
  ThreadLane& operator=(const ThreadLane&) = delete;

  std::size_t workers() const override { return workers_; }
  void submit(ComputeJob& job) override;
  void wait(ComputeJob& job) override;
  void parallel_for(std::size_t count,
                    const std::function<void(std::size_t, std::size_t)>& body) override;
  Spent spent() const override;

 private:
  static constexpr std::size_t kMostGaps = 1024;
  struct Share {  // one index of a parallel_for
    const std::function<void(std::size_t, std::size_t)>* body = nullptr;
    std::size_t index = 0;
    std::size_t* left = nullptr;  // indices not yet run, guarded by mutex_
  };
  struct Task {  // one of the two
    ComputeJob* job = nullptr;
    Share share;
  };
  void helper(std::size_t worker);
  void run(const Task& task, std::size_t worker, std::unique_lock<std::mutex>& lock);
  Task take(ComputeJob* wanted);
  void close_gaps();
  bool nothing_waits() const { return shares_.empty() && waiting_jobs_ == 0; }

  mutable std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::deque<Share> shares_;      // go first
  std::deque<ComputeJob*> jobs_;  // in order of tickets; null where one was taken out of turn
  std::uint64_t first_ticket_ = 0;
  std::size_t waiting_jobs_ = 0;
  std::size_t workers_;
  std::uint64_t training_ns_ = 0, other_ns_ = 0;  // guarded by mutex_
  bool stopping_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace hearsay::runtime
