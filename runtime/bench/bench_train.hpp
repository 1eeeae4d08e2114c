// SPDX-License-Identifier: Apache-2.0
// How much of a training step is matrix product. On the CPU: the whole step (batch assembly,
// forward, loss, backward, clipping, momentum) beside OpenBLAS sgemm alone on the same shapes, on
// one thread. On GPUs: a step of all peers as one batch, as a simulation trains them, beside its
// cuBLASLt products alone, as often behind each other. In turns, so that both meet the same
// machine.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/config/spec.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/device/device_choice.hpp"

namespace hearsay::runtime {

struct TrainBenchRow {
  std::uint32_t batch = 0;
  std::uint32_t peers = 1, cards = 1;         // peers that a card trains at once
  double flops = 0.0;                         // of one step, all peers
  double step_p50_s = 0.0, step_p99_s = 0.0;  // a mini-batch of every peer, host's part included
  double gemm_p50_s = 0.0;                    // the step's products alone
  double on_gpu_s = 0.0;                      // the GPU's part of the step; 0: on the CPU
  double samples_per_s() const { return double{1} * batch * peers * cards / step_p50_s; }
  double share() const { return gemm_p50_s / step_p50_s; }  // of sgemm's rate that the step reaches
  double share_on_gpu() const { return on_gpu_s / step_p50_s; }
};

inline constexpr int kTrainBenchRounds = 60, kStepsARound = 20;

std::vector<TrainBenchRow> bench_train(const Spec& model,
                                       const std::vector<std::uint32_t>& batches);

// One row for each size of mini-batch and number of peers a card. Throws UsageError when a card has
// no room for them.
TrainBenchRow bench_train_on(const DeviceChoice& device, const Spec& model, std::uint32_t batch,
                             std::uint32_t peers);

// Bytes and labels drawn from a fixed seed, in the shape of Fashion-MNIST.
ImageSet random_bench_images();

}  // namespace hearsay::runtime
