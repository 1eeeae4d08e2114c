// SPDX-License-Identifier: Apache-2.0
// Fully connected layer and ReLU as forward/backward pairs on raw row-major buffers. T = float
// trains, T = double is for gradient checks. Weight is [out][in] as in PyTorch's Linear. Cost: 2 B
// in out flop forward, twice that backward.
#pragma once

#include <cstddef>

namespace hearsay::kernels {

struct DenseShape {
  std::size_t batch, in, out;
};

// y[batch][out] = x[batch][in] * weight^T + bias[out]
template <typename T>
void dense_forward(const DenseShape& s, const T* x, const T* weight, const T* bias, T* y);

// d_weight[out][in] = dy^T * x;  d_bias[out] = column sums of dy;  dx[batch][in] = dy * weight,
// skipped when dx is null.
template <typename T>
void dense_backward(const DenseShape& s, const T* x, const T* weight, const T* dy, T* d_weight,
                    T* d_bias, T* dx);

// In place: y = max(y, 0). NaN stays NaN, so that a broken weight shows in the loss.
template <typename T>
void relu_forward(std::size_t count, T* y);

// In place: dy = y > 0 ? dy : 0, y being the output of the forward pass.
template <typename T>
void relu_backward(std::size_t count, const T* y, T* dy);

}  // namespace hearsay::kernels
