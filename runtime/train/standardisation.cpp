// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/standardisation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

Standardisation standardise(const ImageSet& train) {
  const std::size_t pixels = train.image_bytes();
  std::vector<std::uint64_t> sum(pixels, 0), sum2(pixels, 0);  // exact in integers
  for (std::size_t i = 0; i < train.count(); ++i) {
    const auto image = train.image(i);
    for (std::size_t p = 0; p < pixels; ++p) {
      sum[p] += image[p];
      sum2[p] += std::uint64_t{image[p]} * image[p];
    }
  }
  const double n = static_cast<double>(std::max<std::size_t>(1, train.count()));
  Standardisation input;
  for (std::size_t p = 0; p < pixels; ++p) {
    const double mean = static_cast<double>(sum[p]) / n;
    const double variance = std::max(0.0, static_cast<double>(sum2[p]) / n - mean * mean);
    const double deviation = std::max(255.0 * kLeastDeviation, std::sqrt(variance));
    input.scale.push_back(static_cast<float>(1.0 / deviation));
    input.shift.push_back(static_cast<float>(-mean / deviation));
  }
  return input;
}

void fold_into_first_layer(const Standardisation& input, const kernels::Mlp& model,
                           std::span<float> weights) {
  const std::size_t in = model.widths()[0], out = model.widths()[1];
  HS_CHECK(input.scale.size() == in && weights.size() == model.layout().size());
  float* weight = weights.data() + model.weight_offset(0);
  float* bias = weights.data() + model.bias_offset(0);
  for (std::size_t o = 0; o < out; ++o) {
    double moved = 0.0;
    for (std::size_t i = 0; i < in; ++i) {
      float& w = weight[o * in + i];
      moved += static_cast<double>(w) * static_cast<double>(input.shift[i]);
      w *= 255.0f * input.scale[i];
    }
    bias[o] += static_cast<float>(moved);
  }
}

}  // namespace hearsay::runtime
