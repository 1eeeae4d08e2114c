// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/convolution.hpp"

#include <algorithm>

namespace hearsay::kernels {
namespace {

// Calls body(position, row, column) for every place of the kernel.
template <typename Body>
void for_positions(const Layer& layer, const Body& body) {
  for (std::size_t row = 0; row < layer.conv_height(); ++row) {
    for (std::size_t column = 0; column < layer.conv_width(); ++column)
      body(row * layer.conv_width() + column, row, column);
  }
}

// Calls body(output, position of the first of four, channel) for every pooled value of an example.
template <typename Body>
void for_pooled(const Layer& layer, const Body& body) {
  const std::size_t rows = layer.conv_height() / 2, columns = layer.conv_width() / 2;
  for (std::size_t channel = 0; channel < layer.out; ++channel) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        body((channel * rows + row) * columns + column, 2 * row * layer.conv_width() + 2 * column,
             channel);
      }
    }
  }
}

std::size_t place_of(const Layer& layer, std::size_t first, std::uint8_t choice) {
  return first + (choice / 2) * layer.conv_width() + choice % 2;
}

}  // namespace

template <typename T>
void take_patches(const Layer& layer, std::size_t batch, const T* x, T* patches) {
  const std::size_t area = layer.height * layer.width, k = layer.kernel;
  for (std::size_t b = 0; b < batch; ++b) {
    for_positions(layer, [&](std::size_t, std::size_t row, std::size_t column) {
      for (std::size_t channel = 0; channel < layer.in; ++channel) {
        const T* from = x + (b * layer.in + channel) * area + row * layer.width + column;
        for (std::size_t i = 0; i < k; ++i, patches += k)
          std::copy_n(from + i * layer.width, k, patches);
      }
    });
  }
}

template <typename T>
void put_patches(const Layer& layer, std::size_t batch, const T* patches, T* dx) {
  const std::size_t area = layer.height * layer.width, k = layer.kernel;
  std::fill_n(dx, batch * layer.inputs(), T{0});
  for (std::size_t b = 0; b < batch; ++b) {
    for_positions(layer, [&](std::size_t, std::size_t row, std::size_t column) {
      for (std::size_t channel = 0; channel < layer.in; ++channel) {
        T* to = dx + (b * layer.in + channel) * area + row * layer.width + column;
        for (std::size_t i = 0; i < k; ++i, patches += k) {
          for (std::size_t j = 0; j < k; ++j) to[i * layer.width + j] += patches[j];
        }
      }
    });
  }
}

template <typename T>
void pool_forward(const Layer& layer, std::size_t batch, const T* sums, T* y,
                  std::uint8_t* choices) {
  for (std::size_t b = 0; b < batch; ++b) {
    const T* example = sums + b * layer.positions() * layer.out;
    for_pooled(layer, [&](std::size_t output, std::size_t first, std::size_t channel) {
      T best = example[first * layer.out + channel];
      std::uint8_t choice = 0;
      for (std::uint8_t c = 1; c < 4; ++c) {
        const T value = example[place_of(layer, first, c) * layer.out + channel];
        if (value > best || value != value) {
          best = value;
          choice = c;
        }
      }
      y[b * layer.outputs() + output] = best < T{0} ? T{0} : best;
      choices[b * layer.outputs() + output] = choice;
    });
  }
}

template <typename T>
void pool_backward(const Layer& layer, std::size_t batch, const T* y, const std::uint8_t* choices,
                   const T* dy, T* d_sums) {
  std::fill_n(d_sums, batch * layer.positions() * layer.out, T{0});
  for (std::size_t b = 0; b < batch; ++b) {
    T* example = d_sums + b * layer.positions() * layer.out;
    for_pooled(layer, [&](std::size_t output, std::size_t first, std::size_t channel) {
      const std::size_t i = b * layer.outputs() + output;
      if (y[i] > T{0}) example[place_of(layer, first, choices[i]) * layer.out + channel] = dy[i];
    });
  }
}

template void take_patches(const Layer&, std::size_t, const float*, float*);
template void take_patches(const Layer&, std::size_t, const double*, double*);
template void put_patches(const Layer&, std::size_t, const float*, float*);
template void put_patches(const Layer&, std::size_t, const double*, double*);
template void pool_forward(const Layer&, std::size_t, const float*, float*, std::uint8_t*);
template void pool_forward(const Layer&, std::size_t, const double*, double*, std::uint8_t*);
template void pool_backward(const Layer&, std::size_t, const float*, const std::uint8_t*,
                            const float*, float*);
template void pool_backward(const Layer&, std::size_t, const double*, const std::uint8_t*,
                            const double*, double*);

}  // namespace hearsay::kernels
