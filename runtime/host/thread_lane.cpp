// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/thread_lane.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

ThreadLane::ThreadLane(std::size_t threads) : workers_(threads) {
  HS_CHECK(threads >= 1);
  for (std::size_t worker = 1; worker < threads; ++worker) {
    helpers_.emplace_back([this, worker] { helper(worker); });
  }
}

ThreadLane::~ThreadLane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : helpers_) thread.join();
}

void ThreadLane::submit(ComputeJob& job) {
  {
    const std::lock_guard lock(mutex_);
    HS_CHECK(job.done && job.trainer != nullptr);
    job.done = false;
    queue_.push_back({&job, nullptr, 0, nullptr});
  }
  work_.notify_one();
}

// The task of `wanted` if it still waits, else the oldest one. The queue is not empty.
ThreadLane::Task ThreadLane::take(ComputeJob* wanted) {
  auto found = queue_.begin();
  if (wanted != nullptr) {
    found =
        std::find_if(queue_.begin(), queue_.end(), [&](const Task& t) { return t.job == wanted; });
    if (found == queue_.end()) found = queue_.begin();
  }
  const Task task = *found;
  queue_.erase(found);
  return task;
}

void ThreadLane::run(Task task, std::size_t worker, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  if (task.job != nullptr) {
    Trainer& trainer = *task.job->trainer;
    task.job->report = task.job->kind == ComputeJob::Kind::train ? trainer.train(worker)
                                                                 : trainer.train_gradient(worker);
  } else {
    (*task.body)(task.index, worker);
  }
  const auto duration = std::chrono::steady_clock::now() - begin;
  lock.lock();
  (task.job != nullptr ? training_ns_ : other_ns_) +=
      static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
  if (task.job != nullptr) task.job->done = true;
  if (task.left != nullptr) --*task.left;
  finished_.notify_one();  // only the host's thread waits
}

void ThreadLane::helper(std::size_t worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    run(take(nullptr), worker, lock);
  }
}

void ThreadLane::wait(ComputeJob& job) {
  std::unique_lock lock(mutex_);
  while (!job.done) {
    if (queue_.empty()) {
      finished_.wait(lock, [&] { return job.done; });
    } else {
      run(take(&job), 0, lock);
    }
  }
}

void ThreadLane::parallel_for(std::size_t count,
                              const std::function<void(std::size_t, std::size_t)>& body) {
  std::size_t left = count;
  std::unique_lock lock(mutex_);
  for (std::size_t index = count; index-- > 0;) queue_.push_front({nullptr, &body, index, &left});
  work_.notify_all();
  while (left > 0) {
    if (queue_.empty()) {
      finished_.wait(lock);
    } else {
      run(take(nullptr), 0, lock);
    }
  }
}

ComputeLane::Spent ThreadLane::spent() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<double>(training_ns_) * 1e-9, static_cast<double>(other_ns_) * 1e-9};
}

}  // namespace hearsay::runtime
