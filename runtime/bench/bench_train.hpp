// SPDX-License-Identifier: Apache-2.0
// How much of a training step is matrix product: the whole step (batch assembly, forward, loss,
// backward, clipping, momentum) beside OpenBLAS sgemm alone on the same shapes, in turns on one
// thread, so that both meet the same machine.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

struct TrainBenchRow {
  std::uint32_t batch = 0;
  double flops = 0.0;                         // of one step
  double step_p50_s = 0.0, step_p99_s = 0.0;  // one mini-batch
  double gemm_p50_s = 0.0;                    // the step's products alone
  double samples_per_s() const { return batch / step_p50_s; }
  double share() const { return gemm_p50_s / step_p50_s; }  // of sgemm's rate that the step reaches
};

std::vector<TrainBenchRow> bench_train(const Spec& model,
                                       const std::vector<std::uint32_t>& batches);

}  // namespace hearsay::runtime
