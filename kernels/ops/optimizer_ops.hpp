// SPDX-License-Identifier: Apache-2.0
// One fused pass per optimiser over flat fp32 parameters. Agreement class: exact (every operation
// rounded alone). Moments smaller than kFlushBelow in magnitude become 0: a weight whose gradient
// stays 0 would otherwise leave its momentum in the denormal range for ever, where some CPUs are a
// hundred times slower.
#pragma once

#include <cstdint>
#include <span>

namespace hearsay::kernels {

inline constexpr float kFlushBelow = 1e-30f;

// v = momentum * v + scale * g;  w -= lr * v.   All n values, no overlap.
// Traffic: 20 B per value (read w, v, g; write w, v).
void sgd_momentum(float lr, float momentum, float scale, std::span<float> w, std::span<float> v,
                  std::span<const float> g);

struct AdamW {
  float lr, beta1, beta2, epsilon, weight_decay;
  float correction1, correction2;  // 1 - beta^t of this step
};

// m, v moments as in Loshchilov & Hutter 2019 (arXiv 1711.05101), decay decoupled. scale multiplies
// g first. Traffic: 28 B per value.
void adamw(const AdamW& step, float scale, std::span<float> w, std::span<float> m,
           std::span<float> v, std::span<const float> g);

}  // namespace hearsay::kernels
