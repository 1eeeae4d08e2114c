// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/vector_ops.hpp"

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/tile_tree.hpp"

namespace hearsay::kernels {
namespace {

HS_CLONES void dot_row(std::size_t n, const float* x, const float* y, double* __restrict sums) {
  for (std::size_t i = 0; i < n; ++i)
    sums[i] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
}

HS_CLONES void norm_row(std::size_t n, const float* x, double* __restrict sums) {
  for (std::size_t i = 0; i < n; ++i)
    sums[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
}

HS_CLONES void axpy_part(float a, std::size_t n, const float* __restrict x, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

}  // namespace

double dot(std::span<const float> x, std::span<const float> y, Workers& workers) {
  HS_CHECK(x.size() == y.size());
  return sum_rows<1>(x.size(), workers,
                     [&](std::size_t at, std::size_t n, TileSums* sums, std::size_t) {
                       dot_row(n, x.data() + at, y.data() + at, sums->at);
                     })[0];
}

double squared_norm(std::span<const float> x, Workers& workers) {
  return sum_rows<1>(x.size(), workers,
                     [&](std::size_t at, std::size_t n, TileSums* sums, std::size_t) {
                       norm_row(n, x.data() + at, sums->at);
                     })[0];
}

void axpy(float a, std::span<const float> x, std::span<float> y, Workers& workers) {
  HS_CHECK(x.size() == y.size());
  for_tiles(workers, y.size(), kTileValues, [&](std::size_t begin, std::size_t end, std::size_t) {
    axpy_part(a, end - begin, x.data() + begin, y.data() + begin);
  });
}

}  // namespace hearsay::kernels
