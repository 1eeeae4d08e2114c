// SPDX-License-Identifier: Apache-2.0
// kernels/nn/convolution.hpp for many slots: the same layouts with [slot] in front. Every value has
// one thread, sums have a fixed order, and nothing waits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/train_kernels.cuh"
#include "kernels/nn/network.hpp"

namespace hearsay::cuda {

using kernels::Layer;

void take_patches(SlotRange range, const Layer& layer, std::size_t rows, const float* x,
                  float* patches, cudaStream_t stream);
void put_patches(SlotRange range, const Layer& layer, std::size_t rows, const float* patches,
                 float* dx, cudaStream_t stream);
void pool_forward(SlotRange range, const Layer& layer, std::size_t rows, const float* sums,
                  float* y, std::uint8_t* choices, cudaStream_t stream);
void pool_backward(SlotRange range, const Layer& layer, std::size_t rows, const float* y,
                   const std::uint8_t* choices, const float* dy, float* d_sums,
                   cudaStream_t stream);
// d_bias[channel] = sum of dy where y > 0.
void pooled_bias_gradient(SlotRange range, const Layer& layer, std::size_t rows, const float* y,
                          const float* dy, float* d_bias, std::size_t stride, cudaStream_t stream);

}  // namespace hearsay::cuda
