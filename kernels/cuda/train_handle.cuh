// SPDX-License-Identifier: Apache-2.0
// What the C functions about trainers share: the object behind the handle, and exceptions turned
// into 1 and a line.
#pragma once

#include <exception>
#include <string>

#include "kernels/cuda/train_api.h"
#include "kernels/cuda/trainer.cuh"

struct HsCudaTrainer {
  HsCudaTrainer(int device, const HsCudaTrainPlan& plan) : trainer(device, plan) {}
  hearsay::cuda::Trainer trainer;
};

namespace hearsay::cuda {

inline thread_local std::string last_error;

template <typename Body>
int guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& problem) {
    last_error = problem.what();
    return 1;
  }
}

}  // namespace hearsay::cuda
