// SPDX-License-Identifier: Apache-2.0
// The activations of a network for one thread: forward and backward passes on mini-batches. T =
// float trains, T = double is for gradient checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/buffer.hpp"
#include "kernels/nn/loss.hpp"
#include "kernels/nn/network.hpp"

namespace hearsay::kernels {

template <typename T>
class Workspace {
 public:
  Workspace(const Network& network, std::size_t max_batch);

  // Where the caller writes the inputs of the next pass: [batch][inputs].
  T* input() noexcept { return activations_[0].data(); }
  std::size_t max_batch() const noexcept { return max_batch_; }

  // Forward pass alone. labels[batch].
  LossSums evaluate(std::size_t batch, const T* params, const std::uint8_t* labels,
                    double* losses = nullptr);  // [batch], when not null
  // Forward and backward: fills gradient() with the gradient of the mean loss of the batch.
  // With weights[batch], of the mean of the losses times their weights; the sums stay as they are.
  LossSums differentiate(std::size_t batch, const T* params, const std::uint8_t* labels,
                         const T* weights = nullptr);
  std::span<T> gradient() noexcept { return gradient_.span(); }
  // Outputs [max_batch][classes], before softmax: of the newest pass, or of a new one alone.
  std::span<const T> outputs() const noexcept { return activations_.back().span(); }
  std::span<const T> outputs(std::size_t batch, const T* params);

 private:
  // Of one convolution: what its backward pass needs again.
  struct Folded {
    Buffer<T> patches, sums;       // [batch * positions][patch], [batch * positions][out]
    Buffer<std::uint8_t> choices;  // [batch][outputs]: which of the four was the largest
  };
  void forward(std::size_t batch, const T* params);
  void backward(std::size_t batch, const T* params, std::size_t layer);

  const Network& network_;
  std::size_t max_batch_;
  std::vector<Buffer<T>> activations_;  // [layer] outputs, [0] = inputs
  std::vector<Buffer<T>> deltas_;       // [layer] gradient with respect to activations_[layer + 1]
  std::vector<Folded> folded_;          // [layer]; empty of dense layers
  Buffer<T> gradient_;                  // laid out as the parameters
};

}  // namespace hearsay::kernels
