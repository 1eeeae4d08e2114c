// SPDX-License-Identifier: Apache-2.0
// How bytes become inputs: every pixel is centred on its mean over the whole training set and
// divided by its deviation, so that all inputs of the first layer have the same scale. A pure
// function of the data set, hence the same for all peers whatever they own. Deviations below
// kLeastDeviation count as that: pixels that are nearly always background must not become the
// loudest inputs.
#pragma once

#include <span>
#include <vector>

#include "kernels/nn/network.hpp"
#include "runtime/data/dataset.hpp"

namespace hearsay::runtime {

inline constexpr double kLeastDeviation = 0.1;  // of byte / 255

struct Standardisation {
  std::vector<float> scale, shift;  // [pixel]: input = byte * scale + shift
};

// Of a network that begins with a convolution, all pixels share one mean and deviation: its weights
// meet every place of the image.
Standardisation standardise(const ImageSet& train, const kernels::Network& network);

// The same function of the image with the standardisation moved into the first layer: a model that
// takes byte / 255 as it is. Changes outputs by rounding only.
void fold_into_first_layer(const Standardisation& input, const kernels::Network& network,
                           std::span<float> weights);

}  // namespace hearsay::runtime
