// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/nn_context.hpp"

#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

NnContext::NnContext(kernels::Network model, Standardisation input, std::size_t workers,
                     std::size_t max_batch)
    : model_(std::move(model)), input_(std::move(input)), max_batch_(max_batch) {
  HS_CHECK(input_.scale.size() == model_.inputs() && input_.shift.size() == input_.scale.size());
  for (std::size_t w = 0; w < workers; ++w) {
    workspaces_.push_back(std::make_unique<kernels::Workspace<float>>(model_, max_batch));
  }
}

std::span<const float> NnContext::first_weights(std::uint64_t seed) {
  if (first_weights_.size() == 0 || first_seed_ != seed) {
    first_weights_ = kernels::Buffer<float>(model_.layout().size());
    first_seed_ = seed;
    kernels::Rng init = kernels::Rng::stream(seed, "init");
    model_.initialise(init, first_weights_.span());
  }
  return first_weights_.span();
}

void NnContext::load_row(std::size_t worker, std::size_t row, std::span<const std::uint8_t> image) {
  HS_CHECK(image.size() == model_.inputs() && row < max_batch_);
  float* out = workspaces_[worker]->input() + row * image.size();
  const float* scale = input_.scale.data();
  const float* shift = input_.shift.data();
  for (std::size_t i = 0; i < image.size(); ++i)
    out[i] = static_cast<float>(image[i]) * scale[i] + shift[i];
}

}  // namespace hearsay::runtime
