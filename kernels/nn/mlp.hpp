// SPDX-License-Identifier: Apache-2.0
// Multi-layer perceptron: dense, ReLU, ..., dense. The parameters are one flat span described by a
// Layout with the names of torch.nn.Sequential(Linear, ReLU, Linear, ...): "0.weight", "0.bias",
// "2.weight", ... The model itself is a shape and holds no numbers; a workspace holds the
// activations and belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/buffer.hpp"
#include "kernels/core/layout.hpp"
#include "kernels/core/rng.hpp"
#include "kernels/nn/loss.hpp"

namespace hearsay::kernels {

class Mlp {
 public:
  // widths: input, hidden..., classes; at least two, all >= 1.
  explicit Mlp(std::vector<std::size_t> widths);

  const Layout& layout() const noexcept { return layout_; }
  const std::vector<std::size_t>& widths() const noexcept { return widths_; }
  std::size_t layers() const noexcept { return widths_.size() - 1; }
  std::size_t weight_offset(std::size_t layer) const { return layout_.slots()[2 * layer].offset; }
  std::size_t bias_offset(std::size_t layer) const { return layout_.slots()[2 * layer + 1].offset; }

  // Flops of one training step (forward and backward) on `batch` examples, multiply and add counted
  // apart.
  double step_flops(std::size_t batch) const;

  // He initialisation (He et al. 2015, arXiv 1502.01852): weights uniform with variance 2 / in (1 /
  // in in the last layer), biases 0. A pure function of the stream, so that all peers of a run
  // start from the same weights.
  void initialise(Rng& rng, std::span<float> params) const;

 private:
  std::vector<std::size_t> widths_;
  Layout layout_;
};

template <typename T>
class MlpWorkspace {
 public:
  MlpWorkspace(const Mlp& model, std::size_t max_batch);

  // Where the caller writes the inputs of the next pass: [batch][widths[0]].
  T* input() noexcept { return activations_[0].data(); }
  std::size_t max_batch() const noexcept { return max_batch_; }

  // Forward pass alone. labels[batch].
  LossSums evaluate(std::size_t batch, const T* params, const std::uint8_t* labels,
                    double* losses = nullptr);  // [batch], when not null
  // Forward and backward: fills gradient() with the gradient of the mean loss of the batch.
  LossSums differentiate(std::size_t batch, const T* params, const std::uint8_t* labels);
  std::span<T> gradient() noexcept { return gradient_.span(); }

 private:
  void forward(std::size_t batch, const T* params);

  const Mlp& model_;
  std::size_t max_batch_;
  std::vector<Buffer<T>> activations_;  // [layer] outputs, [0] = inputs
  std::vector<Buffer<T>> deltas_;       // [layer] gradient with respect to activations_[layer + 1]
  Buffer<T> gradient_;                  // laid out as the parameters
};

}  // namespace hearsay::kernels
