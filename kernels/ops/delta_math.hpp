// SPDX-License-Identifier: Apache-2.0
// One value of kernels/ops/delta_ops.hpp, for CPU and GPU. What is absent is a template argument:
// it costs neither a load nor a rounding.
#pragma once

#include "kernels/core/half.hpp"

namespace hearsay::kernels {

enum class DeltaMomentum { none, plain, nesterov };

struct DeltaStep {
  float u, momentum;  // what is not finite: 0 and as before
  float size;         // u, or infinity where bad: for the histogram
  std::uint32_t bad;
};

template <DeltaMomentum kMomentum, bool kHasError>
HS_HD inline DeltaStep delta_step(float w, float anchor, float momentum, float error, float mu) {
  const float d = w - anchor;
  float next = momentum, base = d;
  if (kMomentum != DeltaMomentum::none) {
    next = mu * momentum + d;
    base = kMomentum == DeltaMomentum::nesterov ? d + mu * next : next;
  }
  const float u = kHasError ? base + error : base;
  const std::uint32_t bits = float_bits(u);
  const std::uint32_t bad = static_cast<std::uint32_t>((bits & kMagnitude) >= kInfinity);
  const std::uint32_t skip = 0u - bad;
  return {bits_float(bits & ~skip),
          bits_float((float_bits(momentum) & skip) | (float_bits(next) & ~skip)),
          bits_float((kInfinity & skip) | (bits & ~skip)), bad};
}

}  // namespace hearsay::kernels
