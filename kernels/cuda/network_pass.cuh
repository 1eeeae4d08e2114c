// SPDX-License-Identifier: Apache-2.0
// Forward and backward through a network for many slots at once, `rows` examples in each. Training
// has one for all slots, evaluation one for a single slot and more rows. Weights and gradients are
// the caller's: slot s begins at s * stride values. Only queues work.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/batched_gemm.cuh"
#include "kernels/cuda/conv_kernels.cuh"
#include "kernels/cuda/handles.cuh"

namespace hearsay::cuda {

struct PassShape {
  std::size_t slots, rows, stride;
  bool goes_back;
};

class NetworkPass {
 public:
  NetworkPass(cublasLtHandle_t handle, const std::vector<Layer>& layers, const PassShape& shape);

  float* input() const { return input_.data(); }  // [slot][row][inputs]
  const float* logits() const { return steps_.back().output.data(); }
  float* d_logits() const { return steps_.back().delta.data(); }

  void forward(SlotRange range, const float* weights, cudaStream_t stream);
  // From d_logits() to the gradient of every parameter. Products of weight gradients run on
  // `beside`, which is joined again at the end.
  void backward(SlotRange range, const float* weights, float* gradient, cudaStream_t stream,
                cudaStream_t beside);
  // The matrix products of both alone, on the same streams; what they read is whatever lies there.
  void multiply(SlotRange range, const float* weights, float* gradient, cudaStream_t stream,
                cudaStream_t beside);

 private:
  struct Step {
    Layer layer;
    // Long sums are cut into parts of fixed length, computed side by side and added in order: few
    // examples and many inputs, or the other way round, leave most of a GPU idle else.
    std::vector<std::unique_ptr<BatchedGemm>> forward;  // one a part
    std::unique_ptr<BatchedGemm> weight_gradient, input_gradient;
    std::size_t gradient_parts = 1;
    DeviceMemory<float> forward_sums;              // [part][slot][row][out], when there are several
    DeviceMemory<float> gradient_sums;             // [slot][part][out * in], likewise
    DeviceMemory<float> patches, sums, d_patches;  // of convolutions
    DeviceMemory<std::uint8_t> choices;
    DeviceMemory<float> output, delta;  // [slot][row][outputs]
  };
  void make_forward(cublasLtHandle_t handle, Step& step);
  void make_backward(cublasLtHandle_t handle, Step& step, bool is_first);
  void multiply_forward(SlotRange range, Step& step, const float* x, const float* weights, float* y,
                        cudaStream_t stream);
  void multiply_weight_gradient(SlotRange range, Step& step, const float* dy, const float* x,
                                float* gradient, cudaStream_t stream);
  void run_forward(SlotRange range, Step& step, const float* x, const float* weights, float* y,
                   cudaStream_t stream);
  void run_weight_gradient(SlotRange range, Step& step, const float* dy, const float* x,
                           float* gradient, cudaStream_t stream);
  const float* input_of(std::size_t step) const {
    return step == 0 ? input_.data() : steps_[step - 1].output.data();
  }
  void follow(cudaStream_t behind, cudaStream_t before, const Event& event) const;

  PassShape shape_;
  std::vector<Step> steps_;
  DeviceMemory<float> input_;
  static constexpr std::size_t kForwardParts = 4;
  Stream parts_[kForwardParts - 1];  // beside the caller's
  Event part_done_[kForwardParts - 1];
  Event forked_, joined_;
};

}  // namespace hearsay::cuda
