// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/mlp.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/nn/dense.hpp"

namespace hearsay::kernels {

Mlp::Mlp(std::vector<std::size_t> widths) : widths_(std::move(widths)) {
  HS_CHECK(widths_.size() >= 2);
  for (std::size_t l = 0; l + 1 < widths_.size(); ++l) {
    HS_CHECK(widths_[l] >= 1 && widths_[l + 1] >= 1);
    const std::string index = std::to_string(2 * l);  // ReLU layers take the odd numbers
    layout_.add(index + ".weight", {widths_[l + 1], widths_[l]});
    layout_.add(index + ".bias", {widths_[l + 1]});
  }
}

double Mlp::step_flops(std::size_t batch) const {
  double flops = 0.0;
  for (std::size_t l = 0; l < layers(); ++l) {
    const double product = 2.0 * static_cast<double>(batch * widths_[l] * widths_[l + 1]);
    flops += product * (l == 0 ? 2.0 : 3.0);  // the first layer needs no gradient of its input
  }
  return flops;
}

void Mlp::initialise(Rng& rng, std::span<float> params) const {
  HS_CHECK(params.size() == layout_.size());
  for (std::size_t l = 0; l < layers(); ++l) {
    const double gain = l + 1 == layers() ? 1.0 : 2.0;
    const double bound =
        std::sqrt(3.0 * gain / static_cast<double>(widths_[l]));  // uniform: variance bound^2 / 3
    const TensorSlot& weight = layout_.slots()[2 * l];
    const TensorSlot& bias = layout_.slots()[2 * l + 1];
    for (float& w : params.subspan(weight.offset, weight.count))
      w = static_cast<float>(bound * (2.0 * rng.uniform() - 1.0));
    for (float& b : params.subspan(bias.offset, bias.count)) b = 0.0f;
  }
}

template <typename T>
MlpWorkspace<T>::MlpWorkspace(const Mlp& model, std::size_t max_batch)
    : model_(model), max_batch_(max_batch), gradient_(model.layout().size()) {
  for (const std::size_t width : model.widths()) activations_.emplace_back(max_batch * width);
  for (std::size_t l = 0; l < model.layers(); ++l)
    deltas_.emplace_back(max_batch * model.widths()[l + 1]);
}

template <typename T>
void MlpWorkspace<T>::forward(std::size_t batch, const T* params) {
  HS_CHECK(batch >= 1 && batch <= max_batch_);
  for (std::size_t l = 0; l < model_.layers(); ++l) {
    const DenseShape shape{batch, model_.widths()[l], model_.widths()[l + 1]};
    T* y = activations_[l + 1].data();
    dense_forward(shape, activations_[l].data(), params + model_.weight_offset(l),
                  params + model_.bias_offset(l), y);
    if (l + 1 < model_.layers()) relu_forward(batch * shape.out, y);
  }
}

template <typename T>
LossSums MlpWorkspace<T>::evaluate(std::size_t batch, const T* params, const std::uint8_t* labels,
                                   double* losses) {
  forward(batch, params);
  return softmax_cross_entropy<T>(batch, model_.widths().back(), activations_.back().data(), labels,
                                  nullptr, losses);
}

template <typename T>
LossSums MlpWorkspace<T>::differentiate(std::size_t batch, const T* params,
                                        const std::uint8_t* labels) {
  forward(batch, params);
  const LossSums sums = softmax_cross_entropy<T>(
      batch, model_.widths().back(), activations_.back().data(), labels, deltas_.back().data());
  for (std::size_t l = model_.layers(); l-- > 0;) {
    const DenseShape shape{batch, model_.widths()[l], model_.widths()[l + 1]};
    T* below = l == 0 ? nullptr : deltas_[l - 1].data();
    dense_backward(shape, activations_[l].data(), params + model_.weight_offset(l),
                   deltas_[l].data(), gradient_.data() + model_.weight_offset(l),
                   gradient_.data() + model_.bias_offset(l), below);
    if (l > 0) relu_backward(batch * shape.in, activations_[l].data(), below);
  }
  return sums;
}

template class MlpWorkspace<float>;
template class MlpWorkspace<double>;

}  // namespace hearsay::kernels
