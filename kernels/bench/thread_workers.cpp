// SPDX-License-Identifier: Apache-2.0
#include "kernels/bench/thread_workers.hpp"

namespace hearsay::kernels {

ThreadWorkers::ThreadWorkers(std::size_t count) {
  for (std::size_t part = 1; part < count; ++part)
    threads_.emplace_back([this, part] { serve(part); });
}

ThreadWorkers::~ThreadWorkers() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadWorkers::run(const std::function<void(std::size_t)>& body) {
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    running_ = threads_.size();
    ++round_;
  }
  begin_.notify_all();
  body(0);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [&] { return running_ == 0; });
}

void ThreadWorkers::serve(std::size_t part) {
  std::size_t seen = 0;
  for (;;) {
    const std::function<void(std::size_t)>* body = nullptr;
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return is_stopping_ || round_ != seen; });
      if (is_stopping_) return;
      seen = round_;
      body = body_;
    }
    (*body)(part);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) end_.notify_one();
  }
}

}  // namespace hearsay::kernels
