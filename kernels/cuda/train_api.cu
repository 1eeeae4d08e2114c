// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/train_api.h"

#include "kernels/cuda/train_handle.cuh"

using hearsay::cuda::guarded;

extern "C" {

int hs_cuda_train_create(int device, const HsCudaTrainPlan* plan, HsCudaTrainer** trainer) {
  return guarded([&] {
    if (plan->layer_count < 1 || plan->slots < 1 || plan->max_batch < 1 || plan->chunk < 1)
      throw hearsay::cuda::CudaFault("a plan for training on the GPU is incomplete");
    for (size_t l = 0; l < plan->layer_count; ++l) {
      if (plan->layers[l].in < 1 || plan->layers[l].out < 1 || plan->layers[l].kernel < 1)
        throw hearsay::cuda::CudaFault("a layer for training on the GPU has no size");
    }
    *trainer = new HsCudaTrainer(device, *plan);
  });
}

void hs_cuda_train_destroy(HsCudaTrainer* trainer) { delete trainer; }

const char* hs_cuda_train_error(void) { return hearsay::cuda::last_error.c_str(); }

int hs_cuda_train_add_images(HsCudaTrainer* trainer, const uint8_t* pixels, size_t count,
                             uint64_t* first) {
  return guarded([&] { *first = trainer->trainer.add_images(pixels, count); });
}

float* hs_cuda_train_staging(HsCudaTrainer* trainer, size_t slot) {
  return trainer->trainer.staging(slot);
}

int hs_cuda_train_put(HsCudaTrainer* trainer, size_t slot, int what, const float* host) {
  return guarded([&] { trainer->trainer.put(slot, what, host); });
}

int hs_cuda_train_get(HsCudaTrainer* trainer, size_t slot, int what, float* host) {
  return guarded([&] { trainer->trainer.get(slot, what, host); });
}

int hs_cuda_train_begin(HsCudaTrainer* trainer, const HsCudaTrainJob* jobs, size_t count) {
  return guarded([&] { trainer->trainer.begin(jobs, count); });
}

int hs_cuda_train_end(HsCudaTrainer* trainer, HsCudaTrainSums* sums) {
  return guarded([&] { trainer->trainer.end(sums); });
}

int hs_cuda_train_apply(HsCudaTrainer* trainer, const HsCudaTrainJob* job, double scale,
                        const float* gradient) {
  return guarded([&] { trainer->trainer.apply(*job, scale, gradient); });
}

int hs_cuda_train_evaluate(HsCudaTrainer* trainer, const float* weights, uint64_t first,
                           size_t count, const uint8_t* labels, HsCudaTrainSums* sums) {
  return guarded([&] { trainer->trainer.evaluate(weights, first, count, labels, sums); });
}

int hs_cuda_train_time(HsCudaTrainer* trainer, int what, size_t times, double* seconds) {
  return guarded([&] { *seconds = trainer->trainer.time(what, times); });
}

}  // extern "C"
