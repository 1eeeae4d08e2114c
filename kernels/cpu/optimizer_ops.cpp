// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/optimizer_ops.hpp"

#include <cstddef>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/ops/optimizer_math.hpp"

namespace hearsay::kernels {
namespace {

HS_CLONES void sgd_all(float lr, float momentum, float scale, std::size_t n, float* __restrict w,
                       float* __restrict v, const float* __restrict g) {
  for (std::size_t i = 0; i < n; ++i) sgd_update(lr, momentum, scale, g[i], w[i], v[i]);
}

HS_CLONES void adamw_all(const AdamW& s, float scale, std::size_t n, float* __restrict w,
                         float* __restrict m, float* __restrict v, const float* __restrict g) {
  for (std::size_t i = 0; i < n; ++i) adamw_update(s, scale, g[i], w[i], m[i], v[i]);
}

}  // namespace

void sgd_momentum(float lr, float momentum, float scale, std::span<float> w, std::span<float> v,
                  std::span<const float> g) {
  HS_CHECK(w.size() == v.size() && w.size() == g.size());
  sgd_all(lr, momentum, scale, w.size(), w.data(), v.data(), g.data());
}

void adamw(const AdamW& step, float scale, std::span<float> w, std::span<float> m,
           std::span<float> v, std::span<const float> g) {
  HS_CHECK(w.size() == m.size() && w.size() == v.size() && w.size() == g.size());
  adamw_all(step, scale, w.size(), w.data(), m.data(), v.data(), g.data());
}

}  // namespace hearsay::kernels
