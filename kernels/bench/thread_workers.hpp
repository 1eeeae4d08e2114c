// SPDX-License-Identifier: Apache-2.0
// Threads that stay, for benches: starting one costs as much as a kernel on a million values.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/core/workers.hpp"

namespace hearsay::kernels {

class ThreadWorkers final : public Workers {
 public:
  explicit ThreadWorkers(std::size_t count);  // >= 1; the caller of run() is one of them
  ~ThreadWorkers() override;
  ThreadWorkers(const ThreadWorkers&) = delete;
  ThreadWorkers& operator=(const ThreadWorkers&) = delete;

  std::size_t count() const override { return threads_.size() + 1; }
  void run(const std::function<void(std::size_t)>& body) override;

 private:
  void serve(std::size_t part);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t round_ = 0, running_ = 0;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearsay::kernels
