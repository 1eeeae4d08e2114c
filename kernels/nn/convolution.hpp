// SPDX-License-Identifier: Apache-2.0
// A convolution as a dense layer over patches, with ReLU and 2x2 max pooling behind it. Images are
// [channel][row][column] as in PyTorch; the product's rows are [example][position] and its columns
// channels. An odd last row or column is left out of pooling, as PyTorch does. Cost: patches are
// kernel^2 times the input, written and read once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/nn/network.hpp"

namespace hearsay::kernels {

// patches[batch * positions][in * kernel * kernel] of x[batch][in][height][width].
template <typename T>
void take_patches(const Layer& layer, std::size_t batch, const T* x, T* patches);
// The other way round, overlapping values added: dx is overwritten.
template <typename T>
void put_patches(const Layer& layer, std::size_t batch, const T* patches, T* dx);

// y[batch][out][rows / 2][columns / 2] = max(0, largest of four sums); the first wins a tie.
// NaN stays NaN. choices: which of the four.
template <typename T>
void pool_forward(const Layer& layer, std::size_t batch, const T* sums, T* y,
                  std::uint8_t* choices);
// d_sums is overwritten: dy where the value was chosen and y > 0, else 0.
template <typename T>
void pool_backward(const Layer& layer, std::size_t batch, const T* y, const std::uint8_t* choices,
                   const T* dy, T* d_sums);

}  // namespace hearsay::kernels
