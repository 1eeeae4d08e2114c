// SPDX-License-Identifier: Apache-2.0
// A compute lane that trains on GPUs: jobs wait until a result is due, then all that wait run as
// one batch on each GPU, the GPUs at the same time. What else a host has to do runs on threads. One
// thread submits and waits. When a GPU fails, the jobs in flight count as done and nothing runs any
// more: the Fault that says so ends the run.
#pragma once

#include <vector>

#include "runtime/host/thread_lane.hpp"
#include "runtime/seams/compute_lane.hpp"

namespace hearsay::runtime {

class DeviceLane final : public ComputeLane {
 public:
  explicit DeviceLane(std::size_t threads) : threads_(threads) {}

  std::size_t workers() const override { return threads_.workers(); }
  std::size_t trains_at_once() const override { return 1; }
  void submit(ComputeJob& job) override;
  void wait(ComputeJob& job) override;
  void parallel_for(std::size_t count,
                    const std::function<void(std::size_t, std::size_t)>& body) override {
    threads_.parallel_for(count, body);
  }
  Spent spent() const override { return {training_s_, threads_.spent().other_s}; }

 private:
  void run_all(const std::vector<ComputeJob*>& jobs);

  ThreadLane threads_;
  std::vector<ComputeJob*> waiting_;
  double training_s_ = 0.0;
  bool has_failed_ = false;
};

}  // namespace hearsay::runtime
