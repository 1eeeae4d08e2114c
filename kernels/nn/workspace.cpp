// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/workspace.hpp"

#include "kernels/core/check.hpp"
#include "kernels/nn/convolution.hpp"
#include "kernels/nn/dense.hpp"

namespace hearsay::kernels {

template <typename T>
Workspace<T>::Workspace(const Network& network, std::size_t max_batch)
    : network_(network), max_batch_(max_batch), gradient_(network.layout().size()) {
  activations_.emplace_back(max_batch * network.inputs());
  for (const Layer& layer : network.layers()) {
    activations_.emplace_back(max_batch * layer.outputs());
    deltas_.emplace_back(max_batch * layer.outputs());
    Folded folded;
    if (layer.is_convolution()) {
      const std::size_t rows = max_batch * layer.positions();
      folded = {Buffer<T>(rows * layer.patch()), Buffer<T>(rows * layer.out),
                Buffer<std::uint8_t>(max_batch * layer.outputs())};
    }
    folded_.push_back(std::move(folded));
  }
}

template <typename T>
void Workspace<T>::forward(std::size_t batch, const T* params) {
  HS_CHECK(batch >= 1 && batch <= max_batch_);
  for (std::size_t l = 0; l < network_.layers().size(); ++l) {
    const Layer& layer = network_.layers()[l];
    const T* x = activations_[l].data();
    T* y = activations_[l + 1].data();
    if (layer.is_convolution()) {
      Folded& folded = folded_[l];
      const DenseShape rows{batch * layer.positions(), layer.patch(), layer.out};
      take_patches(layer, batch, x, folded.patches.data());
      dense_forward(rows, folded.patches.data(), params + layer.weight, params + layer.bias,
                    folded.sums.data());
      pool_forward(layer, batch, folded.sums.data(), y, folded.choices.data());
    } else {
      dense_forward({batch, layer.in, layer.out}, x, params + layer.weight, params + layer.bias, y);
      if (layer.is_hidden) relu_forward(batch * layer.out, y);
    }
  }
}

// From deltas_[l] to the layer's gradients and, but for the first layer, deltas_[l - 1].
template <typename T>
void Workspace<T>::backward(std::size_t batch, const T* params, std::size_t l) {
  const Layer& layer = network_.layers()[l];
  T* below = l == 0 ? nullptr : deltas_[l - 1].data();
  T* d_weight = gradient_.data() + layer.weight;
  T* d_bias = gradient_.data() + layer.bias;
  if (layer.is_convolution()) {
    Folded& folded = folded_[l];
    const DenseShape rows{batch * layer.positions(), layer.patch(), layer.out};
    pool_backward(layer, batch, activations_[l + 1].data(), folded.choices.data(),
                  deltas_[l].data(), folded.sums.data());
    // The gradient of the patches takes the place of what the forward pass has left there.
    dense_backward(rows, folded.patches.data(), params + layer.weight, folded.sums.data(), d_weight,
                   d_bias, l == 0 ? nullptr : folded.patches.data());
    if (l > 0) put_patches(layer, batch, folded.patches.data(), below);
  } else {
    dense_backward({batch, layer.in, layer.out}, activations_[l].data(), params + layer.weight,
                   deltas_[l].data(), d_weight, d_bias, below);
  }
  // A pooled layer below applies its own ReLU when its turn comes.
  if (l > 0 && !network_.layers()[l - 1].is_convolution())
    relu_backward(batch * layer.inputs(), activations_[l].data(), below);
}

template <typename T>
LossSums Workspace<T>::evaluate(std::size_t batch, const T* params, const std::uint8_t* labels,
                                double* losses) {
  forward(batch, params);
  return softmax_cross_entropy<T>(batch, network_.classes(), activations_.back().data(), labels,
                                  nullptr, losses);
}

template <typename T>
LossSums Workspace<T>::differentiate(std::size_t batch, const T* params, const std::uint8_t* labels,
                                     const T* weights) {
  forward(batch, params);
  T* const deltas = deltas_.back().data();
  const LossSums sums = softmax_cross_entropy<T>(batch, network_.classes(),
                                                 activations_.back().data(), labels, deltas);
  const std::size_t classes = network_.classes();
  for (std::size_t i = 0; weights != nullptr && i < batch * classes; ++i)
    deltas[i] *= weights[i / classes];
  for (std::size_t l = network_.layers().size(); l-- > 0;) backward(batch, params, l);
  return sums;
}

template <typename T>
std::span<const T> Workspace<T>::outputs(std::size_t batch, const T* params) {
  forward(batch, params);
  return activations_.back().span().first(batch * network_.classes());
}

template class Workspace<float>;
template class Workspace<double>;

}  // namespace hearsay::kernels
