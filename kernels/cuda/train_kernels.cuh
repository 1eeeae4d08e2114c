// SPDX-License-Identifier: Apache-2.0
// What a training step needs beside matrix products. Everything is laid out [slot][row][unit];
// `batch[slot]` rows count, the rest is zero. All sums have a fixed order. Nothing waits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/train_api.h"

namespace hearsay::cuda {

// One slot's part in the step that runs, as the device sees it.
struct SlotStep {
  std::uint32_t batch;  // 0: sits out
  std::uint32_t only_gradient;
  float lr, correction1, correction2;
};

struct UpdateRule {
  int optimizer;
  float momentum, beta1, beta2, epsilon, weight_decay;
  double clip;
};

// Slots first .. first + count - 1 of a step; pointers are to slot 0.
struct SlotRange {
  unsigned first, count;
};

struct InputPlan {
  const std::uint8_t* images;
  const float* scale;
  const float* shift;
  std::size_t pixels, max_batch;
};

// x[slot][row][pixel] = byte * scale + shift of examples[slot][row], zero beyond the batch.
void gather_inputs(SlotRange range, const InputPlan& plan, const SlotStep* steps,
                   const std::uint64_t* examples, float* x, cudaStream_t stream);

// Sums that were computed in parts: value i is the sum of sums[i + part * distance] in order.
struct Parts {
  const float* sums;
  std::size_t count, distance;
};

// y = sums + bias, then max(y, 0) in hidden layers. NaN stays NaN. bias of slot s: bias + s *
// stride.
void add_bias(SlotRange range, std::size_t rows, std::size_t units, const Parts& parts,
              const float* bias, std::size_t stride, bool is_hidden, float* y, cudaStream_t stream);

// out[slot * stride + i] = sum over parts of sums[slot][part][i], in order.
void add_parts(SlotRange range, std::size_t count, std::size_t parts, const float* sums, float* out,
               std::size_t stride, cudaStream_t stream);

// Softmax cross-entropy of logits[slot][row][class]; the gradient of the mean loss replaces
// d_logits unless it is null. scratch: [slot][max_batch] of LossRow.
struct LossRow {
  double loss, confidence;
  std::uint32_t correct;
};
void softmax_loss(SlotRange range, std::size_t max_batch, std::size_t classes,
                  const SlotStep* steps, const float* logits, const std::uint8_t* labels,
                  float* d_logits, LossRow* scratch, HsCudaTrainSums* sums, cudaStream_t stream);

// d_bias[unit] = sum over rows of dy; with `y`, dy = y > 0 ? dy : 0 first.
void bias_gradient(SlotRange range, std::size_t rows, std::size_t units, const float* y, float* dy,
                   float* d_bias, std::size_t stride, cudaStream_t stream);

// partials[slot][tile] = sum of squares of the slot's gradient over tiles of 4096.
void gradient_norms(SlotRange range, std::size_t size, std::size_t stride, const float* gradient,
                    double* partials, cudaStream_t stream);

// One optimiser step of every slot that is not sitting out and whose loss is finite. `scale`
// multiplies gradients before clipping.
struct UpdateState {
  float *weights, *first, *second;
  const float* gradient;
  const double* partials;
  const HsCudaTrainSums* sums;  // null: no look at the loss
  std::size_t size, stride;
};
void update_weights(SlotRange range, const UpdateRule& rule, double scale, const SlotStep* steps,
                    const UpdateState& state, cudaStream_t stream);

}  // namespace hearsay::cuda
