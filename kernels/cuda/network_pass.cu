// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/network_pass.cuh"

#include <algorithm>

namespace hearsay::cuda {
namespace {

constexpr std::size_t kAlignment = 16;      // bytes; what cuBLASLt's fast kernels want
constexpr std::size_t kLongSum = 512;       // values; longer ones are cut into parts
constexpr std::size_t kMostSlots = 65'535;  // of a launch's second dimension
constexpr std::size_t kMostValues = std::size_t{1} << 31;  // of one slot and layer
constexpr std::size_t kFewRows = 128;                      // more fill a GPU without parts

std::size_t alignment_of(const Layer& layer) {
  // Parameters lie one behind the other, so that a weight may begin at any multiple of 4 bytes.
  const bool is_aligned = layer.weight % 4 == 0 && layer.patch() % 4 == 0 && layer.out % 4 == 0;
  return is_aligned ? kAlignment : sizeof(float);
}

// The largest divisor of `rows` that leaves parts of at least kLongSum values.
std::size_t parts_of(std::size_t rows, std::size_t positions) {
  std::size_t parts = std::max<std::size_t>(1, std::min(rows, rows * positions / kLongSum));
  while (rows % parts != 0) --parts;
  return parts;
}

}  // namespace

NetworkPass::NetworkPass(cublasLtHandle_t handle, const std::vector<Layer>& layers,
                         const PassShape& shape)
    : shape_(shape), input_(shape.slots * shape.rows * layers.front().inputs()) {
  if (shape.slots > kMostSlots) throw CudaFault("one GPU takes at most 65535 models");
  for (const Layer& layer : layers) {
    const std::size_t widest = std::max({layer.patch(), layer.out, layer.inputs()});
    if (shape.rows * layer.positions() * widest > kMostValues)
      throw CudaFault("a mini-batch has too many values for one layer; give a smaller --batch");
    Step step;
    step.layer = layer;
    make_forward(handle, step);
    if (shape.goes_back) make_backward(handle, step, steps_.empty());
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

void NetworkPass::make_forward(cublasLtHandle_t handle, Step& step) {
  const Layer& layer = step.layer;
  const std::size_t rows = shape_.rows * layer.positions(), in = layer.patch(), out = layer.out;
  const bool in_parts = !layer.is_convolution() && rows <= kFewRows && in >= kLongSum &&
                        in % (4 * kForwardParts) == 0;
  const std::size_t parts = in_parts ? kForwardParts : 1;
  for (std::size_t p = 0; p < parts; ++p) {
    step.forward.push_back(std::make_unique<BatchedGemm>(
        handle,
        GemmShape{false, true, rows, out, in / parts, rows * in, shape_.stride, rows * out, in, in},
        alignment_of(layer)));
  }
  if (in_parts) step.forward_sums = DeviceMemory<float>(parts * shape_.slots * rows * out);
}

void NetworkPass::make_backward(cublasLtHandle_t handle, Step& step, bool is_first) {
  const Layer& layer = step.layer;
  const std::size_t rows = shape_.rows * layer.positions(), in = layer.patch(), out = layer.out;
  const std::size_t parts = parts_of(shape_.rows, layer.positions()), part = rows / parts;
  step.gradient_parts = parts;
  if (parts > 1) step.gradient_sums = DeviceMemory<float>(shape_.slots * parts * out * in);
  step.weight_gradient =
      std::make_unique<BatchedGemm>(handle,
                                    GemmShape{true, false, out, in, part, part * out, part * in,
                                              parts > 1 ? out * in : shape_.stride},
                                    alignment_of(layer));
  if (is_first) return;
  step.input_gradient = std::make_unique<BatchedGemm>(
      handle, GemmShape{false, false, rows, in, out, rows * out, shape_.stride, rows * in},
      alignment_of(layer));
}

void NetworkPass::multiply_forward(SlotRange range, Step& step, const float* x,
                                   const float* weights, float* y, cudaStream_t stream) {
  const Layer& layer = step.layer;
  const std::size_t rows = shape_.rows * layer.positions(), parts = step.forward.size();
  const float* w = weights + layer.weight;
  if (parts == 1) return step.forward[0]->run(range.first, range.count, x, w, y, stream);
  const std::size_t part = layer.patch() / parts, sums = shape_.slots * rows * layer.out;
  must(cudaEventRecord(forked_.get(), stream), "event");
  for (std::size_t p = 0; p < parts; ++p) {
    const cudaStream_t on = p == 0 ? stream : parts_[p - 1].get();
    if (p > 0) must(cudaStreamWaitEvent(on, forked_.get(), 0), "event");
    step.forward[p]->run(range.first, range.count, x + p * part, w + p * part,
                         step.forward_sums.data() + p * sums, on);
  }
  for (std::size_t p = 1; p < parts; ++p) follow(stream, parts_[p - 1].get(), part_done_[p - 1]);
}

void NetworkPass::run_forward(SlotRange range, Step& step, const float* x, const float* weights,
                              float* y, cudaStream_t stream) {
  const Layer& layer = step.layer;
  const std::size_t rows = shape_.rows * layer.positions(), parts = step.forward.size();
  multiply_forward(range, step, x, weights, y, stream);
  add_bias(range, rows, layer.out,
           {parts == 1 ? y : step.forward_sums.data(), parts, shape_.slots * rows * layer.out},
           weights + layer.bias, shape_.stride, layer.is_hidden && !layer.is_convolution(), y,
           stream);
}

void NetworkPass::multiply_weight_gradient(SlotRange range, Step& step, const float* dy,
                                           const float* x, float* gradient, cudaStream_t stream) {
  const std::size_t parts = step.gradient_parts;
  float* sums = parts == 1 ? gradient + step.layer.weight : step.gradient_sums.data();
  step.weight_gradient->run(range.first * parts, range.count * parts, dy, x, sums, stream);
}

void NetworkPass::run_weight_gradient(SlotRange range, Step& step, const float* dy, const float* x,
                                      float* gradient, cudaStream_t stream) {
  multiply_weight_gradient(range, step, dy, x, gradient, stream);
  if (step.gradient_parts == 1) return;
  add_parts(range, step.layer.patch() * step.layer.out, step.gradient_parts,
            step.gradient_sums.data(), gradient + step.layer.weight, shape_.stride, stream);
}

void NetworkPass::forward(SlotRange range, const float* weights, cudaStream_t stream) {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    const Layer& layer = step.layer;
    if (!layer.is_convolution()) {
      run_forward(range, step, input_of(s), weights, step.output.data(), stream);
      continue;
    }
    take_patches(range, layer, shape_.rows, input_of(s), step.patches.data(), stream);
    run_forward(range, step, step.patches.data(), weights, step.sums.data(), stream);
    pool_forward(range, layer, shape_.rows, step.sums.data(), step.output.data(),
                 step.choices.data(), stream);
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
    run_weight_gradient(range, step, dy, x, gradient, beside);
    if (s == 0) continue;
    float* below = steps_[s - 1].delta.data();
    float* dx = layer.is_convolution() ? step.d_patches.data() : below;
    step.input_gradient->run(range.first, range.count, dy, weights + layer.weight, dx, stream);
    if (layer.is_convolution()) put_patches(range, layer, shape_.rows, dx, below, stream);
  }
  follow(stream, beside, joined_);
}

void NetworkPass::multiply(SlotRange range, const float* weights, float* gradient,
                           cudaStream_t stream, cudaStream_t beside) {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    const bool is_conv = step.layer.is_convolution();
    multiply_forward(range, step, is_conv ? step.patches.data() : input_of(s), weights,
                     is_conv ? step.sums.data() : step.output.data(), stream);
  }
  for (std::size_t s = steps_.size(); s-- > 0;) {
    Step& step = steps_[s];
    const bool is_conv = step.layer.is_convolution();
    const float* dy = is_conv ? step.sums.data() : step.delta.data();
    follow(beside, stream, forked_);
    multiply_weight_gradient(range, step, dy, is_conv ? step.patches.data() : input_of(s), gradient,
                             beside);
    if (s == 0) continue;
    float* dx = is_conv ? step.d_patches.data() : steps_[s - 1].delta.data();
    step.input_gradient->run(range.first, range.count, dy, weights + step.layer.weight, dx, stream);
  }
  follow(stream, beside, joined_);
}

}  // namespace hearsay::cuda
