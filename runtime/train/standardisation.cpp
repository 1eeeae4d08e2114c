// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/standardisation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

Standardisation standardise(const ImageSet& train, const kernels::Network& network) {
  const std::size_t pixels = train.image_bytes();
  std::vector<std::uint64_t> sum(pixels, 0), sum2(pixels, 0);  // exact in integers
  for (std::size_t i = 0; i < train.count(); ++i) {
    const auto image = train.image(i);
    for (std::size_t p = 0; p < pixels; ++p) {
      sum[p] += image[p];
      sum2[p] += std::uint64_t{image[p]} * image[p];
    }
  }
  double n = static_cast<double>(std::max<std::size_t>(1, train.count()));
  if (network.layers().front().is_convolution()) {
    for (std::vector<std::uint64_t>* sums : {&sum, &sum2})
      std::fill(sums->begin(), sums->end(),
                std::accumulate(sums->begin(), sums->end(), std::uint64_t{0}));
    n *= static_cast<double>(pixels);
  }
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

void fold_into_first_layer(const Standardisation& input, const kernels::Network& network,
                           std::span<float> weights) {
  HS_CHECK(input.scale.size() == network.inputs() && weights.size() == network.layout().size());
  const kernels::Layer& first = network.layers().front();
  float* weight = weights.data() + first.weight;
  float* bias = weights.data() + first.bias;
  for (std::size_t o = 0; o < first.out; ++o) {
    double moved = 0.0;
    for (std::size_t i = 0; i < first.patch(); ++i) {
      const std::size_t pixel = first.is_convolution() ? 0 : i;  // all alike there
      float& w = weight[o * first.patch() + i];
      moved += static_cast<double>(w) * static_cast<double>(input.shift[pixel]);
      w *= 255.0f * input.scale[pixel];
    }
    bias[o] += static_cast<float>(moved);
  }
}

}  // namespace hearsay::runtime
