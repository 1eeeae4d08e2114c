// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/train_kernels.cuh"
#include "kernels/ops/optimizer_math.hpp"

namespace hearsay::cuda {
namespace {

constexpr int kLossBlock = 128, kUnitBlock = 32, kRowLanes = 16;

unsigned blocks(std::size_t count, std::size_t each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

// grid (rows, slots)
__global__ void gather(SlotRange range, InputPlan plan, const SlotStep* steps,
                       const std::uint64_t* examples, float* x) {
  const std::size_t slot = range.first + blockIdx.y, row = blockIdx.x;
  const std::size_t place = slot * plan.max_batch + row;
  float* out = x + place * plan.pixels;
  if (row >= steps[slot].batch) {
    for (std::size_t i = threadIdx.x; i < plan.pixels; i += blockDim.x) out[i] = 0.0f;
    return;
  }
  const std::uint8_t* image = plan.images + examples[place] * plan.pixels;
  for (std::size_t i = threadIdx.x; i < plan.pixels; i += blockDim.x)
    out[i] = static_cast<float>(image[i]) * plan.scale[i] + plan.shift[i];
}

// grid (units of a slot's matrix, slots)
__global__ void bias_relu(SlotRange range, std::size_t count, std::size_t units, Parts parts,
                          const float* bias, std::size_t stride, bool is_hidden, float* y) {
  const std::size_t slot = range.first + blockIdx.y;
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= count) return;
  float sum = parts.sums[slot * count + i];
  for (std::size_t p = 1; p < parts.count; ++p)
    sum += parts.sums[slot * count + i + p * parts.distance];
  sum += bias[slot * stride + i % units];
  y[slot * count + i] = is_hidden && sum < 0.0f ? 0.0f : sum;
}

__global__ void part_sums(SlotRange range, std::size_t count, std::size_t parts, const float* sums,
                          float* out, std::size_t stride) {
  const std::size_t slot = range.first + blockIdx.y;
  const std::size_t i = blockIdx.x * std::size_t{kBlock} + threadIdx.x;
  if (i >= count) return;
  float sum = 0.0f;
  for (std::size_t p = 0; p < parts; ++p) sum += sums[(slot * parts + p) * count + i];
  out[slot * stride + i] = sum;
}

__device__ LossRow loss_of_row(const float* logits, std::size_t classes, std::size_t label,
                               float inverse_batch, float* d_logits) {
  std::size_t top = 0;
  for (std::size_t c = 1; c < classes; ++c) top = logits[c] > logits[top] ? c : top;
  const float peak = logits[top];
  float total = 0.0f;
  for (std::size_t c = 0; c < classes; ++c) total += expf(logits[c] - peak);
  const float log_total = logf(total);
  const float log_p = logits[label] - peak - log_total;
  if (d_logits != nullptr) {
    for (std::size_t c = 0; c < classes; ++c) {
      const float p = expf(logits[c] - peak - log_total);
      d_logits[c] = (p - (c == label ? 1.0f : 0.0f)) * inverse_batch;
    }
  }
  return {-static_cast<double>(log_p), static_cast<double>(expf(log_p)), top == label};
}

// One block a slot: a thread a row, then one thread adds the rows in order.
__global__ void loss(SlotRange range, std::size_t max_batch, std::size_t classes,
                     const SlotStep* steps, const float* logits, const std::uint8_t* labels,
                     float* d_logits, LossRow* scratch, HsCudaTrainSums* sums) {
  const std::size_t slot = range.first + blockIdx.x, first = slot * max_batch;
  const std::size_t batch = steps[slot].batch;
  for (std::size_t row = threadIdx.x; row < max_batch; row += blockDim.x) {
    float* d = d_logits == nullptr ? nullptr : d_logits + (first + row) * classes;
    if (row < batch) {
      scratch[first + row] = loss_of_row(logits + (first + row) * classes, classes,
                                         labels[first + row], 1.0f / static_cast<float>(batch), d);
    } else if (d != nullptr) {
      for (std::size_t c = 0; c < classes; ++c) d[c] = 0.0f;
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  HsCudaTrainSums total{0.0, 0.0, 0};
  for (std::size_t row = 0; row < batch; ++row) {
    total.loss += scratch[first + row].loss;
    total.confidence += scratch[first + row].confidence;
    total.correct += scratch[first + row].correct;
  }
  sums[slot] = total;
}

// grid (units, slots), block (units, row lanes): a lane sums every kRowLanes-th row, then the lanes
// are added in order.
__global__ void bias_back(SlotRange range, std::size_t rows, std::size_t units, const float* y,
                          float* dy, float* d_bias, std::size_t stride) {
  __shared__ float lanes[kRowLanes][kUnitBlock];
  const std::size_t slot = range.first + blockIdx.y;
  const std::size_t unit = blockIdx.x * std::size_t{kUnitBlock} + threadIdx.x;
  float sum = 0.0f;
  if (unit < units) {
    for (std::size_t row = threadIdx.y; row < rows; row += kRowLanes) {
      const std::size_t i = (slot * rows + row) * units + unit;
      float d = dy[i];
      if (y != nullptr) {
        d = y[i] > 0.0f ? d : 0.0f;
        dy[i] = d;
      }
      sum += d;
    }
  }
  lanes[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || unit >= units) return;
  for (int lane = 1; lane < kRowLanes; ++lane) sum += lanes[lane][threadIdx.x];
  d_bias[slot * stride + unit] = sum;
}

__device__ double warp_sum(double value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// grid (tiles, slots)
__global__ void squares(SlotRange range, std::size_t size, std::size_t stride,
                        const float* gradient, double* partials) {
  __shared__ double warps[kBlock / 32];
  const std::size_t slot = range.first + blockIdx.y, begin = blockIdx.x * kTile;
  double sum = 0.0;
  // A slot begins at a multiple of 64 values, and what is behind its last value is zero.
  const auto* from = reinterpret_cast<const float4*>(gradient + slot * stride);
#pragma unroll
  for (std::size_t k = 0; k < kTile / (4 * kBlock); ++k) {
    const std::size_t i = begin / 4 + k * kBlock + threadIdx.x;
    if (4 * i >= size) break;
    const float4 g = from[i];
    const double x = g.x, y = g.y, z = g.z, w = g.w;
    sum += (x * x + y * y) + (z * z + w * w);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kBlock / 32; ++w) sum += warps[w];
  partials[slot * gridDim.x + blockIdx.x] = sum;
}

// The factor on a slot's gradient: `scale`, and less when the norm is above the clip. Called by a
// whole block; every block of a slot comes to the same.
__device__ float gradient_factor(double clip, double scale, const double* partials,
                                 std::size_t tiles) {
  __shared__ float factor;
  if (threadIdx.x < 32) {
    double sum = 0.0;
    if (clip > 0.0) {
      for (std::size_t t = threadIdx.x; t < tiles; t += 32) sum += partials[t];
      sum = warp_sum(sum);
    }
    if (threadIdx.x == 0) {
      const double norm = scale * sqrt(sum);
      factor = static_cast<float>(clip > 0.0 && norm > clip ? scale * (clip / norm) : scale);
    }
  }
  __syncthreads();
  return factor;
}

// grid (values, slots)
__global__ void update(SlotRange range, UpdateRule rule, double scale, const SlotStep* steps,
                       UpdateState state, std::size_t tiles) {
  const std::size_t slot = range.first + blockIdx.y;
  const SlotStep step = steps[slot];
  if (step.batch == 0 || step.only_gradient != 0) return;
  if (state.sums != nullptr && !isfinite(state.sums[slot].loss)) return;
  const float factor = gradient_factor(rule.clip, scale, state.partials + slot * tiles, tiles);
  const kernels::AdamW adamw{step.lr,           rule.beta1,       rule.beta2,      rule.epsilon,
                             rule.weight_decay, step.correction1, step.correction2};
  // Four values at once, also those behind the last one: there everything is and stays zero.
  const std::size_t base = slot * state.stride / 4;
  auto* const weights = reinterpret_cast<float4*>(state.weights) + base;
  auto* const first = reinterpret_cast<float4*>(state.first) + base;
  auto* const second = reinterpret_cast<float4*>(state.second) + base;
  const auto* const gradient = reinterpret_cast<const float4*>(state.gradient) + base;
  const std::size_t begin = blockIdx.x * (kTile / 4) + threadIdx.x;
#pragma unroll
  for (std::size_t k = 0; k < kTile / (4 * kBlock); ++k) {
    const std::size_t i = begin + k * kBlock;
    if (4 * i >= state.size) return;
    const float4 g = gradient[i];
    float4 w = weights[i], m = first[i];
    if (rule.optimizer == HS_CUDA_SGD) {
      kernels::sgd_update(step.lr, rule.momentum, factor, g.x, w.x, m.x);
      kernels::sgd_update(step.lr, rule.momentum, factor, g.y, w.y, m.y);
      kernels::sgd_update(step.lr, rule.momentum, factor, g.z, w.z, m.z);
      kernels::sgd_update(step.lr, rule.momentum, factor, g.w, w.w, m.w);
    } else {
      float4 v = second[i];
      kernels::adamw_update(adamw, factor, g.x, w.x, m.x, v.x);
      kernels::adamw_update(adamw, factor, g.y, w.y, m.y, v.y);
      kernels::adamw_update(adamw, factor, g.z, w.z, m.z, v.z);
      kernels::adamw_update(adamw, factor, g.w, w.w, m.w, v.w);
      second[i] = v;
    }
    weights[i] = w;
    first[i] = m;
  }
}

}  // namespace

void gather_inputs(SlotRange range, const InputPlan& plan, const SlotStep* steps,
                   const std::uint64_t* examples, float* x, cudaStream_t stream) {
  gather<<<dim3(static_cast<unsigned>(plan.max_batch), range.count), kBlock, 0, stream>>>(
      range, plan, steps, examples, x);
}

void add_bias(SlotRange range, std::size_t rows, std::size_t units, const Parts& parts,
              const float* bias, std::size_t stride, bool is_hidden, float* y,
              cudaStream_t stream) {
  bias_relu<<<dim3(blocks(rows * units, kBlock), range.count), kBlock, 0, stream>>>(
      range, rows * units, units, parts, bias, stride, is_hidden, y);
}

void add_parts(SlotRange range, std::size_t count, std::size_t parts, const float* sums, float* out,
               std::size_t stride, cudaStream_t stream) {
  part_sums<<<dim3(blocks(count, kBlock), range.count), kBlock, 0, stream>>>(range, count, parts,
                                                                             sums, out, stride);
}

void softmax_loss(SlotRange range, std::size_t max_batch, std::size_t classes,
                  const SlotStep* steps, const float* logits, const std::uint8_t* labels,
                  float* d_logits, LossRow* scratch, HsCudaTrainSums* sums, cudaStream_t stream) {
  loss<<<range.count, kLossBlock, 0, stream>>>(range, max_batch, classes, steps, logits, labels,
                                               d_logits, scratch, sums);
}

void bias_gradient(SlotRange range, std::size_t rows, std::size_t units, const float* y, float* dy,
                   float* d_bias, std::size_t stride, cudaStream_t stream) {
  bias_back<<<dim3(blocks(units, kUnitBlock), range.count), dim3(kUnitBlock, kRowLanes), 0,
              stream>>>(range, rows, units, y, dy, d_bias, stride);
}

void gradient_norms(SlotRange range, std::size_t size, std::size_t stride, const float* gradient,
                    double* partials, cudaStream_t stream) {
  squares<<<dim3(blocks(size, kTile), range.count), kBlock, 0, stream>>>(range, size, stride,
                                                                         gradient, partials);
}

void update_weights(SlotRange range, const UpdateRule& rule, double scale, const SlotStep* steps,
                    const UpdateState& state, cudaStream_t stream) {
  update<<<dim3(blocks(state.size, kTile), range.count), kBlock, 0, stream>>>(
      range, rule, scale, steps, state, (state.size + kTile - 1) / kTile);
}

}  // namespace hearsay::cuda
