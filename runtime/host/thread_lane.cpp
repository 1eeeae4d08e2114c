// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/thread_lane.hpp"

#include <chrono>
#include <utility>

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
    job.ticket = first_ticket_ + jobs_.size();
    jobs_.push_back(&job);
    ++waiting_jobs_;
  }
  work_.notify_one();
}

// The job `wanted` if it still waits, else what came first. Something waits.
ThreadLane::Task ThreadLane::take(ComputeJob* wanted) {
  const auto place = [&] { return static_cast<std::size_t>(wanted->ticket - first_ticket_); };
  const bool is_waiting = wanted != nullptr && wanted->ticket >= first_ticket_ &&
                          place() < jobs_.size() && jobs_[place()] == wanted;
  if (!is_waiting && !shares_.empty()) {
    const Share share = shares_.front();
    shares_.pop_front();
    return {nullptr, share};
  }
  ComputeJob* const job = std::exchange(is_waiting ? jobs_[place()] : jobs_.front(), nullptr);
  --waiting_jobs_;
  for (; !jobs_.empty() && jobs_.front() == nullptr; ++first_ticket_) jobs_.pop_front();
  if (jobs_.size() > 2 * waiting_jobs_ + kMostGaps) close_gaps();
  return {job, {}};
}

// A job at the front that nobody asks for, of a frozen peer, would let the line grow without end.
void ThreadLane::close_gaps() {
  std::erase(jobs_, nullptr);
  for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->ticket = first_ticket_ + i;
}

void ThreadLane::run(const Task& task, std::size_t worker, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  if (task.job != nullptr) {
    Trainer& trainer = *task.job->trainer;
    task.job->report = task.job->kind == ComputeJob::Kind::train ? trainer.train(worker)
                                                                 : trainer.train_gradient(worker);
  } else {
    (*task.share.body)(task.share.index, worker);
  }
  const auto duration = std::chrono::steady_clock::now() - begin;
  lock.lock();
  (task.job != nullptr ? training_ns_ : other_ns_) +=
      static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
  if (task.job != nullptr) task.job->done = true;
  if (task.share.left != nullptr) --*task.share.left;
  finished_.notify_one();  // only the host's thread waits
}

void ThreadLane::helper(std::size_t worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !nothing_waits(); });
    if (stopping_) return;
    run(take(nullptr), worker, lock);
  }
}

void ThreadLane::wait(ComputeJob& job) {
  std::unique_lock lock(mutex_);
  while (!job.done) {
    if (nothing_waits()) {
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
  for (std::size_t index = count; index-- > 0;) shares_.push_front({&body, index, &left});
  work_.notify_all();
  while (left > 0) {
    if (nothing_waits()) {
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
