// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "kernels/ops/gemm.hpp"
#include "runtime/bench/bench_train.hpp"
#include "runtime/bench/distribution.hpp"
#include "runtime/device/device_lane.hpp"
#include "runtime/device/device_pool.hpp"
#include "runtime/host/assembly.hpp"

namespace hearsay::runtime {
namespace {

// Peers on GPUs, and a lane that has a mini-batch for each of them again and again.
class Pool {
 public:
  Pool(const DeviceChoice& device, NnContext& context, const ImageSet& shard,
       const NnTrainerOptions& options, std::size_t peers)
      : gpus_(device, context, peers, options.batch, options.optimizer), lane_(1), jobs_(peers) {
    for (std::size_t i = 0; i < peers; ++i) {
      NnTrainerOptions own = options;
      own.peer = static_cast<std::uint32_t>(i);
      trainers_.push_back(gpus_.make_trainer(context, shard, own, i));
      jobs_[i].trainer = trainers_.back().get();
    }
  }
  void step() {
    for (ComputeJob& job : jobs_) lane_.submit(job);
    for (ComputeJob& job : jobs_) lane_.wait(job);
  }
  // Of the card that needs longest.
  double seconds_of(DeviceGroup::Timed what) {
    double most = 0.0;
    for (std::size_t g = 0; g < gpus_.size(); ++g)
      most = std::max(most, gpus_.group_of(g).seconds_of(what, kStepsARound));
    return most;
  }

 private:
  DevicePool gpus_;
  DeviceLane lane_;
  std::vector<std::unique_ptr<DeviceTrainer>> trainers_;
  std::vector<ComputeJob> jobs_;
};

}  // namespace

TrainBenchRow bench_train_on(const DeviceChoice& device, const Spec& model, std::uint32_t batch,
                             std::uint32_t peers) {
  kernels::use_one_blas_thread();
  const ImageSet images = random_bench_images();
  const std::unique_ptr<NnContext> context = build_context(model, images, 1, batch);
  NnTrainerOptions options;
  options.batch = batch;
  options.epochs = 1'000'000;
  options.optimizer.clip = 1.0;
  const std::size_t cards = device.gpus.size();
  Pool pool(device, *context, images, options, peers * cards);
  Distribution steps, gemms, on_gpu;
  for (int round = -3; round < kTrainBenchRounds; ++round) {  // the first three warm up
    const double step_s = seconds_of([&] {
      for (int i = 0; i < kStepsARound; ++i) pool.step();
    });
    const double gemm_s = pool.seconds_of(DeviceGroup::Timed::products);
    const double gpu_s = pool.seconds_of(DeviceGroup::Timed::step);
    if (round < 0) continue;
    steps.add(step_s / kStepsARound);
    gemms.add(gemm_s);
    on_gpu.add(gpu_s);
  }
  TrainBenchRow row;
  row.batch = batch;
  row.peers = peers;
  row.cards = static_cast<std::uint32_t>(cards);
  row.flops = context->model().step_flops(batch) * peers * static_cast<double>(cards);
  row.step_p50_s = steps.at(0.5);
  row.step_p99_s = steps.at(0.99);
  row.gemm_p50_s = gemms.at(0.5);
  row.on_gpu_s = on_gpu.at(0.5);
  return row;
}

}  // namespace hearsay::runtime
