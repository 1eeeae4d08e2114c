// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/network_pass.cuh"

namespace hearsay::cuda {
namespace {

constexpr std::size_t kAlignment = 16;  // bytes; what cuBLASLt's fast kernels want

}  // namespace

NetworkPass::NetworkPass(cublasLtHandle_t handle, const std::vector<Layer>& layers,
                         const PassShape& shape)
    : shape_(shape), input_(shape.slots * shape.rows * layers.front().inputs()) {
  for (const Layer& layer : layers) {
    Step step;
    step.layer = layer;
    make_products(handle, step, steps_.empty());
    const std::size_t rows = shape.slots * shape.rows;
    if (layer.is_convolution()) {
      step.patches = DeviceMemory<float>(rows * layer.positions() * layer.patch());
      step.sums = DeviceMemory<float>(rows * layer.positions() * layer.out);
      step.choices = DeviceMemory<std::uint8_t>(rows * layer.outputs());
      if (shape.goes_back && !steps_.empty())
        step.d_patches = DeviceMemory<float>(rows * layer.positions() * layer.patch());
    }
    step.output = DeviceMemory<float>(rows * layer.outputs());
    step.delta = DeviceMemory<float>(shape.goes_back ? rows * layer.outputs() : 0);
    steps_.push_back(std::move(step));
  }
}

void NetworkPass::make_products(cublasLtHandle_t handle, Step& step, bool is_first) {
  const Layer& layer = step.layer;
  const std::size_t rows = shape_.rows * layer.positions(), in = layer.patch(), out = layer.out;
  // Parameters lie one behind the other, so that a weight may begin at any multiple of 4 bytes.
  const bool is_aligned = layer.weight % 4 == 0 && in % 4 == 0 && out % 4 == 0;
  const std::size_t alignment = is_aligned ? kAlignment : sizeof(float);
  step.forward = std::make_unique<BatchedGemm>(
      handle, GemmShape{false, true, rows, out, in, rows * in, shape_.stride, rows * out}, alignment);
  if (!shape_.goes_back) return;
  step.weight_gradient = std::make_unique<BatchedGemm>(
      handle, GemmShape{true, false, out, in, rows, rows * out, rows * in, shape_.stride}, alignment);
  if (is_first) return;
  step.input_gradient = std::make_unique<BatchedGemm>(
      handle, GemmShape{false, false, rows, in, out, rows * out, shape_.stride, rows * in},
      alignment);
}

void NetworkPass::forward(SlotRange range, const float* weights, cudaStream_t stream) {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    const Layer& layer = step.layer;
    const float* x = input_of(s);
    float* y = step.output.data();
    if (layer.is_convolution()) {
      take_patches(range, layer, shape_.rows, x, step.patches.data(), stream);
      x = step.patches.data();
      y = step.sums.data();
    }
    step.forward->run(range.first, range.count, x, weights + layer.weight, y, stream);
    add_bias(range, shape_.rows * layer.positions(), layer.out, weights + layer.bias, shape_.stride,
             layer.is_hidden && !layer.is_convolution(), y, stream);
    if (layer.is_convolution())
      pool_forward(range, layer, shape_.rows, y, step.output.data(), step.choices.data(), stream);
  }
}

// What is queued on `behind` from now on waits for what is on `before`.
void NetworkPass::follow(cudaStream_t behind, cudaStream_t before, const Event& event) const {
  must(cudaEventRecord(event.get(), before), "event");
  must(cudaStreamWaitEvent(behind, event.get(), 0), "event");
}

void NetworkPass::backward(SlotRange range, const float* weights, float* gradient,
                           cudaStream_t stream, cudaStream_t beside) {
  for (std::size_t s = steps_.size(); s-- > 0;) {
    Step& step = steps_[s];
    const Layer& layer = step.layer;
    const float *x = input_of(s), *dy = step.delta.data();
    float* d_bias = gradient + layer.bias;
    if (layer.is_convolution()) {
      pooled_bias_gradient(range, layer, shape_.rows, step.output.data(), dy, d_bias, shape_.stride,
                           stream);
      pool_backward(range, layer, shape_.rows, step.output.data(), step.choices.data(), dy,
                    step.sums.data(), stream);
      dy = step.sums.data();
      x = step.patches.data();
    } else {
      bias_gradient(range, shape_.rows, layer.out, layer.is_hidden ? step.output.data() : nullptr,
                    step.delta.data(), d_bias, shape_.stride, stream);
    }
    follow(beside, stream, forked_);
    step.weight_gradient->run(range.first, range.count, dy, x, gradient + layer.weight, beside);
    if (s == 0) continue;
    float* below = steps_[s - 1].delta.data();
    float* dx = layer.is_convolution() ? step.d_patches.data() : below;
    step.input_gradient->run(range.first, range.count, dy, weights + layer.weight, dx, stream);
    if (layer.is_convolution()) put_patches(range, layer, shape_.rows, dx, below, stream);
  }
  follow(stream, beside, joined_);
}

}  // namespace hearsay::cuda
