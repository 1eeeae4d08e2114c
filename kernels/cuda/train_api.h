/* SPDX-License-Identifier: Apache-2.0
 * Many models of one shape trained on one device as one batch: slot s holds the weights, optimiser
 * state and mini-batch of one peer. A step takes a mini-batch for some of the slots; the others sit it
 * out. What comes out of a slot does not depend on the others: products run by cuBLASLt algorithms
 * that were chosen for the shape alone, without split sums, and every reduction has a fixed order.
 * Agreement: bit-identical run to run on one build and kind of GPU; beside the CPU, rounding.
 * One host thread at a time. Functions return 0, or 1 with one line from hs_cuda_train_error().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HsCudaTrainer HsCudaTrainer;

enum { HS_CUDA_SGD = 0, HS_CUDA_ADAMW = 1 };
enum { HS_CUDA_WEIGHTS = 0, HS_CUDA_FIRST = 1, HS_CUDA_SECOND = 2, HS_CUDA_GRADIENT = 3 };

/* As Layer in kernels/nn/network.hpp; parameters lie one behind the other, weight then bias. */
typedef struct {
  int is_convolution, is_hidden;
  size_t in, out, height, width, kernel;
} HsCudaLayer;

typedef struct {
  const HsCudaLayer* layers;
  size_t layer_count;
  size_t slots, max_batch;
  size_t chunk; /* examples of an evaluation pass at once */
  int optimizer;
  float momentum, beta1, beta2, epsilon, weight_decay;
  double clip;         /* largest gradient norm; 0: none */
  const float* scale;  /* [pixel]: input = byte * scale + shift */
  const float* shift;
} HsCudaTrainPlan;

/* One slot's part in a step. Slots rise from job to job. */
typedef struct {
  uint32_t slot;
  uint32_t batch;           /* examples, 1 .. max_batch */
  const uint64_t* examples; /* [batch] places given by hs_cuda_train_add_images */
  const uint8_t* labels;    /* [batch] */
  float lr, correction1, correction2; /* of this update; corrections for AdamW */
  int only_gradient;        /* leaves weights and optimiser state alone */
} HsCudaTrainJob;

typedef struct {
  double loss;        /* sum over the mini-batch */
  double confidence;  /* sum of p(label) */
  uint64_t correct;
} HsCudaTrainSums;

int hs_cuda_train_create(int device, const HsCudaTrainPlan* plan, HsCudaTrainer** trainer);
void hs_cuda_train_destroy(HsCudaTrainer* trainer);
/* Of the last call in this thread that did not return 0. */
const char* hs_cuda_train_error(void);

/* Keeps `count` images on the device, each of as many bytes as the network has inputs; *first is the
 * place of the first. */
int hs_cuda_train_add_images(HsCudaTrainer* trainer, const uint8_t* pixels, size_t count,
                             uint64_t* first);

/* Page-locked memory of the size of the weights, one a slot, from which put and get are fast. */
float* hs_cuda_train_staging(HsCudaTrainer* trainer, size_t slot);
int hs_cuda_train_put(HsCudaTrainer* trainer, size_t slot, int what, const float* host);
int hs_cuda_train_get(HsCudaTrainer* trainer, size_t slot, int what, float* host);

/* begin queues one step and returns; end waits and gives a result a job. A loss that is not finite
 * leaves the slot's weights and state as they were. */
int hs_cuda_train_begin(HsCudaTrainer* trainer, const HsCudaTrainJob* jobs, size_t count);
int hs_cuda_train_end(HsCudaTrainer* trainer, HsCudaTrainSums* sums);

/* Updates one slot with scale * gradient from host memory. */
int hs_cuda_train_apply(HsCudaTrainer* trainer, const HsCudaTrainJob* job, double scale,
                        const float* gradient);

/* Forward passes of `weights` (host) over `count` images from place `first`. */
int hs_cuda_train_evaluate(HsCudaTrainer* trainer, const float* weights, uint64_t first, size_t count,
                           const uint8_t* labels, HsCudaTrainSums* sums);

/* For benches: seconds of the device for one of `times` steps behind each other without the host in
 * between, with the orders of the last step, or for the matrix products of a step alone, as often. All
 * slots' weights move on, or their gradients are overwritten. After a step of all slots. */
enum { HS_CUDA_TIME_STEP = 0, HS_CUDA_TIME_PRODUCTS = 1 };
int hs_cuda_train_time(HsCudaTrainer* trainer, int what, size_t times, double* seconds);

#ifdef __cplusplus
}
#endif
