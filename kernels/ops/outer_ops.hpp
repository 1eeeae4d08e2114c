// SPDX-License-Identifier: Apache-2.0
// The pass of an outer optimiser over flat fp32 parameters: slow weights move by what the fast ones
// have done since, by what a partner has said, and by momentum. Agreement class: exact (every
// operation rounded by itself, in the order below). On the CPU; peers that train on a GPU bring
// their weights to host memory for it.
#pragma once

#include <span>

namespace hearsay::kernels {

// With d = w - slow and x = in - base (0 where nobody has said anything):
//   u = (momentum_own d) + (momentum_mix x)
//   buffered: buffer += u, and where it is `flush`ed: m = keep m + buffer, buffer = 0
//   else:     m = keep m + u
//   slow += ((own d) + (mix x)) + (momentum m)
struct OuterStep {
  float own = 0.0f, mix = 0.0f, momentum = 0.0f;
  float momentum_own = 0.0f, momentum_mix = 0.0f, keep = 0.0f;
  bool flush = false;
};

// All of n values and without overlap; `in` and `base` both or neither, `buffer` or empty.
// Traffic: 20 B per value, + 8 with `in`, + 8 with `buffer`.
void outer_step(const OuterStep& step, std::span<const float> w, std::span<const float> in,
                std::span<const float> base, std::span<float> slow, std::span<float> m,
                std::span<float> buffer);

// out = slow + factor * (w - slow). Traffic: 12 B per value.
void extrapolate(float factor, std::span<const float> w, std::span<const float> slow,
                 std::span<float> out);

}  // namespace hearsay::kernels
