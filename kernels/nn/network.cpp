// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/network.hpp"

#include <cmath>
#include <string>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::kernels {
namespace {

constexpr std::size_t kKernel = 5;

}  // namespace

void Network::add(Layer layer, std::size_t number) {
  HS_CHECK(layer.in >= 1 && layer.out >= 1);
  const std::string index = std::to_string(number);
  std::vector<std::size_t> shape{layer.out, layer.in};
  if (layer.is_convolution()) shape = {layer.out, layer.in, layer.kernel, layer.kernel};
  layer.weight = layout_.add(index + ".weight", std::move(shape));
  layer.bias = layout_.add(index + ".bias", {layer.out});
  layers_.push_back(layer);
}

Network Network::mlp(const std::vector<std::size_t>& widths) {
  HS_CHECK(widths.size() >= 2);
  Network network;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    Layer layer;
    layer.in = widths[l];
    layer.out = widths[l + 1];
    layer.is_hidden = l + 2 < widths.size();
    network.add(layer, 2 * l);  // ReLU layers take the odd numbers
  }
  return network;
}

Network Network::cnn(std::size_t height, std::size_t width,
                     const std::vector<std::size_t>& channels,
                     const std::vector<std::size_t>& hidden, std::size_t classes) {
  HS_CHECK(!channels.empty());
  Network network;
  std::size_t in = 1, number = 0;
  for (const std::size_t out : channels) {
    if (height < kKernel + 1 || width < kKernel + 1) {
      throw UsageError("--model: an image is too small for " + std::to_string(channels.size()) +
                       " convolutions of 5x5 with pooling; use fewer, or mlp");
    }
    Layer layer{Layer::Kind::convolution, in, out, height, width, kKernel};
    height = layer.conv_height() / 2;
    width = layer.conv_width() / 2;
    network.add(layer, number);
    in = out;
    number += 3;  // ReLU and MaxPool2d follow
  }
  ++number;  // Flatten
  std::size_t units = in * height * width;
  for (const std::size_t out : hidden) {
    Layer layer;
    layer.in = units;
    layer.out = units = out;
    network.add(layer, number);
    number += 2;
  }
  Layer last;
  last.in = units;
  last.out = classes;
  last.is_hidden = false;
  network.add(last, number);
  return network;
}

double Network::step_flops(std::size_t batch) const {
  double flops = 0.0;
  for (const Layer& layer : layers_) {
    const double product =
        2.0 * static_cast<double>(batch * layer.positions() * layer.patch() * layer.out);
    // The first layer needs no gradient of its input.
    flops += product * (&layer == &layers_.front() ? 2.0 : 3.0);
  }
  return flops;
}

void Network::initialise(Rng& rng, std::span<float> params) const {
  HS_CHECK(params.size() == layout_.size());
  for (const Layer& layer : layers_) {
    const double gain = layer.is_hidden ? 2.0 : 1.0;
    const double bound = std::sqrt(3.0 * gain / static_cast<double>(layer.patch()));  // uniform
    for (float& w : params.subspan(layer.weight, layer.patch() * layer.out))
      w = static_cast<float>(bound * (2.0 * rng.uniform() - 1.0));
    for (float& b : params.subspan(layer.bias, layer.out)) b = 0.0f;
  }
}

}  // namespace hearsay::kernels
