// SPDX-License-Identifier: Apache-2.0
// Sums and combinations of flat fp32 vectors. Agreement class D0: sums run in fp64 over exact
// products along kernels/core/tile_tree.hpp, so threads and the CUDA twin give the same bits.
#pragma once

#include <span>

#include "kernels/core/workers.hpp"

namespace hearsay::kernels {

// sum x * y. Equal sizes; x may be y. Traffic: 8 B per value.
double dot(std::span<const float> x, std::span<const float> y, Workers& workers);

// sum x^2. Traffic: 4 B per value.
double squared_norm(std::span<const float> x, Workers& workers);

// y += a * x, two roundings a value. Equal sizes, no overlap. a = 0 still adds (a * NaN is NaN).
// Traffic: 12 B per value.
void axpy(float a, std::span<const float> x, std::span<float> y, Workers& workers);

}  // namespace hearsay::kernels
