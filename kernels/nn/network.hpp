// SPDX-License-Identifier: Apache-2.0
// A feed-forward network as a table of layers: dense, or convolution with 2x2 max pooling, ReLU
// between them. The parameters are one flat span described by a Layout with the names of a
// torch.nn.Sequential of the same layers, so that exported models load there. The network itself is
// a shape and holds no numbers; a workspace (kernels/nn/workspace.hpp) holds the activations.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/core/layout.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::kernels {

struct Layer {
  enum class Kind { dense, convolution } kind = Kind::dense;
  std::size_t in = 0, out = 0;                    // units, or channels of a convolution
  std::size_t height = 1, width = 1, kernel = 1;  // of a convolution's input; no padding, stride 1
  std::size_t weight = 0, bias = 0;               // offsets into the parameters
  bool is_hidden = true;                          // ReLU follows

  bool is_convolution() const { return kind == Kind::convolution; }
  std::size_t conv_height() const { return height - kernel + 1; }  // before pooling
  std::size_t conv_width() const { return width - kernel + 1; }
  std::size_t positions() const { return is_convolution() ? conv_height() * conv_width() : 1; }
  std::size_t patch() const { return in * kernel * kernel; }  // values that one output looks at
  std::size_t inputs() const { return in * height * width; }
  std::size_t outputs() const {  // after pooling
    return is_convolution() ? out * (conv_height() / 2) * (conv_width() / 2) : out;
  }
};

class Network {
 public:
  // widths: input, hidden..., classes; at least two, all >= 1.
  static Network mlp(const std::vector<std::size_t>& widths);
  // LeNet-like: an image of one channel, 5x5 convolutions to `channels`, each with 2x2 max pooling,
  // then dense layers of `hidden` and `classes` units. Throws UsageError when the image is too
  // small.
  static Network cnn(std::size_t height, std::size_t width,
                     const std::vector<std::size_t>& channels,
                     const std::vector<std::size_t>& hidden, std::size_t classes);

  const Layout& layout() const noexcept { return layout_; }
  const std::vector<Layer>& layers() const noexcept { return layers_; }
  std::size_t inputs() const { return layers_.front().inputs(); }
  std::size_t classes() const { return layers_.back().out; }

  // Flops of one training step (forward and backward) on `batch` examples, multiply and add counted
  // apart.
  double step_flops(std::size_t batch) const;

  // He initialisation (He et al. 2015, arXiv 1502.01852): weights uniform with variance 2 / fan-in
  // (1 / fan-in in the last layer), biases 0. A pure function of the stream, so that all peers of a
  // run start from the same weights.
  void initialise(Rng& rng, std::span<float> params) const;

 private:
  void add(Layer layer, std::size_t number);  // `number` in the Sequential
  std::vector<Layer> layers_;
  Layout layout_;
};

}  // namespace hearsay::kernels
