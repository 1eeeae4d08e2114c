// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/device_lane.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "kernels/core/check.hpp"
#include "runtime/device/device_trainer.hpp"

namespace hearsay::runtime {
namespace {

// What one GPU does in this round.
struct Share {
  std::vector<HsCudaTrainJob> orders;
  std::vector<ComputeJob*> jobs;
};

DeviceTrainer& trainer_of(const ComputeJob& job) {
  return dynamic_cast<DeviceTrainer&>(*job.trainer);
}

}  // namespace

void DeviceLane::submit(ComputeJob& job) {
  HS_CHECK(job.done && job.trainer != nullptr);
  job.done = false;
  waiting_.push_back(&job);
}

void DeviceLane::wait(ComputeJob& job) {
  if (job.done) return;
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<ComputeJob*> jobs = std::exchange(waiting_, {});
  try {
    if (!has_failed_) run_all(jobs);
  } catch (...) {
    has_failed_ = true;
    for (ComputeJob* each : jobs) each->done = true;
    throw;
  }
  for (ComputeJob* each : jobs) each->done = true;
  training_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  HS_CHECK(job.done);
}

void DeviceLane::run_all(const std::vector<ComputeJob*>& jobs) {
  std::map<DeviceGroup*, Share> shares;
  for (ComputeJob* job : jobs) {
    Share& share = shares[&trainer_of(*job).group()];
    share.orders.push_back(trainer_of(*job).prepare(job->kind == ComputeJob::Kind::gradient));
    share.jobs.push_back(job);
  }
  for (auto& [group, share] : shares) {
    std::vector<std::size_t> order(share.jobs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return share.orders[a].slot < share.orders[b].slot;
    });
    Share sorted;
    for (const std::size_t i : order) {
      sorted.orders.push_back(share.orders[i]);
      sorted.jobs.push_back(share.jobs[i]);
    }
    share = std::move(sorted);
    group->begin(share.orders);
  }
  for (auto& [group, share] : shares) {
    const std::vector<HsCudaTrainSums> sums = group->end();
    for (std::size_t i = 0; i < share.jobs.size(); ++i)
      share.jobs[i]->report = trainer_of(*share.jobs[i]).finish(sums[i]);
  }
}

}  // namespace hearsay::runtime
