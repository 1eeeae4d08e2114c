// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/nn_context.hpp"

#include <cmath>
#include <utility>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

Standardisation standardise(const ImageSet& train) {
  std::uint64_t sum = 0, sum2 = 0;  // exact: 255^2 * 2^32 pixels fit
  for (const std::uint8_t p : train.pixels) {
    sum += p;
    sum2 += std::uint64_t{p} * p;
  }
  const double n = static_cast<double>(train.pixels.size());
  if (n == 0.0) return {};
  const double mean = static_cast<double>(sum) / n;
  const double variance = static_cast<double>(sum2) / n - mean * mean;
  return {mean / 255.0, variance > 0.0 ? std::sqrt(variance) / 255.0 : 1.0};
}

NnContext::NnContext(kernels::Mlp model, Standardisation input, std::size_t workers, std::size_t max_batch)
    : model_(std::move(model)),
      input_(input),
      max_batch_(max_batch),
      scale_(static_cast<float>(1.0 / (255.0 * input.deviation))),
      shift_(static_cast<float>(-input.mean / input.deviation)) {
  for (std::size_t w = 0; w < workers; ++w) {
    workspaces_.push_back(std::make_unique<kernels::MlpWorkspace<float>>(model_, max_batch));
  }
}

void NnContext::load_row(std::size_t worker, std::size_t row, std::span<const std::uint8_t> image) {
  HS_CHECK(image.size() == model_.widths().front() && row < max_batch_);
  float* out = workspaces_[worker]->input() + row * image.size();
  for (std::size_t i = 0; i < image.size(); ++i) out[i] = static_cast<float>(image[i]) * scale_ + shift_;
}

}  // namespace hearsay::runtime
