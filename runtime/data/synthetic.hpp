// SPDX-License-Identifier: Apache-2.0
// `synthetic:digits`: images of seven-segment digits, each with its own place, size, slant, bent
// corners, stroke width, brightness, stray dots and noise. Needs no download; made so that a small
// network learns it within a few epochs while a linear model stays behind. A pure function of
// (seed, options) and, because only + - * / and square roots are used, the same bytes on every
// machine. Cost: about 10 us an image.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/data/dataset.hpp"

namespace hearsay::runtime {

struct DigitsOptions {
  std::size_t train_count = 6000;  // each digit equally often, up to 1
  std::size_t test_count = 1000;   // drawn from a stream of its own
};

Dataset synthetic_digits(std::uint64_t seed, const DigitsOptions& options = {});

}  // namespace hearsay::runtime
