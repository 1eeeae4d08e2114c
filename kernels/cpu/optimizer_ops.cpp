// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/optimizer_ops.hpp"

#include <cmath>
#include <cstddef>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"

namespace hearsay::kernels {
namespace {

HS_CLONES void sgd_all(float lr, float momentum, float scale, std::size_t n, float* __restrict w,
                       float* __restrict v, const float* __restrict g) {
  for (std::size_t i = 0; i < n; ++i) {
    const float moved = momentum * v[i] + scale * g[i];
    const float kept = std::fabs(moved) < kFlushBelow ? 0.0f : moved;
    v[i] = kept;
    w[i] -= lr * kept;
  }
}

HS_CLONES void adamw_all(const AdamW& s, float scale, std::size_t n, float* __restrict w,
                         float* __restrict m, float* __restrict v, const float* __restrict g) {
  for (std::size_t i = 0; i < n; ++i) {
    const float gi = scale * g[i];
    const float mi = s.beta1 * m[i] + (1.0f - s.beta1) * gi;
    const float vi = s.beta2 * v[i] + (1.0f - s.beta2) * (gi * gi);
    m[i] = std::fabs(mi) < kFlushBelow ? 0.0f : mi;
    v[i] = vi < kFlushBelow ? 0.0f : vi;
    const float update = (m[i] / s.correction1) / (std::sqrt(v[i] / s.correction2) + s.epsilon);
    w[i] -= s.lr * (update + s.weight_decay * w[i]);
  }
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
