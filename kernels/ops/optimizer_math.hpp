// SPDX-License-Identifier: Apache-2.0
// The update of one weight, for CPU and GPU: every operation rounded alone, so both have the same
// bits.
#pragma once

#include <cmath>

#include "kernels/core/host_device.hpp"
#include "kernels/ops/optimizer_ops.hpp"

namespace hearsay::kernels {

HS_HD inline void sgd_update(float lr, float momentum, float scale, float g, float& w, float& v) {
  const float moved = momentum * v + scale * g;
  const float kept = std::fabs(moved) < kFlushBelow ? 0.0f : moved;
  v = kept;
  w -= lr * kept;
}

HS_HD inline void adamw_update(const AdamW& s, float scale, float g, float& w, float& m, float& v) {
  const float gi = scale * g;
  const float mi = s.beta1 * m + (1.0f - s.beta1) * gi;
  const float vi = s.beta2 * v + (1.0f - s.beta2) * (gi * gi);
  m = std::fabs(mi) < kFlushBelow ? 0.0f : mi;
  v = vi < kFlushBelow ? 0.0f : vi;
  const float update = (m / s.correction1) / (std::sqrt(v / s.correction2) + s.epsilon);
  w -= s.lr * (update + s.weight_decay * w);
}

}  // namespace hearsay::kernels
