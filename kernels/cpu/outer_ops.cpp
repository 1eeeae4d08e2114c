// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/outer_ops.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/core/check.hpp"
#include "kernels/cpu/clones.hpp"

namespace hearsay::kernels {
namespace {

// A piece that stays in the cache while the passes below go over it.
constexpr std::size_t kPiece = 2048;

HS_CLONES void moved(std::size_t n, const float* __restrict w, const float* __restrict slow,
                     float* __restrict d) {
  for (std::size_t i = 0; i < n; ++i) d[i] = w[i] - slow[i];
}

// u and the part of the step without momentum.
HS_CLONES void sums_alone(const OuterStep& s, std::size_t n, const float* __restrict d,
                          float* __restrict u, float* __restrict step) {
  const float momentum_own = s.momentum_own, own = s.own;
  for (std::size_t i = 0; i < n; ++i) {
    u[i] = momentum_own * d[i];
    step[i] = own * d[i];
  }
}

HS_CLONES void sums_with(const OuterStep& s, std::size_t n, const float* __restrict d,
                         const float* __restrict in, const float* __restrict base,
                         float* __restrict u, float* __restrict step) {
  const float momentum_own = s.momentum_own, momentum_mix = s.momentum_mix;
  const float own = s.own, mix = s.mix;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = in[i] - base[i];
    u[i] = momentum_own * d[i] + momentum_mix * x;
    step[i] = own * d[i] + mix * x;
  }
}

HS_CLONES void add(std::size_t n, const float* __restrict u, float* __restrict to) {
  for (std::size_t i = 0; i < n; ++i) to[i] += u[i];
}

HS_CLONES void gather(float keep, std::size_t n, const float* __restrict u, float* __restrict m) {
  for (std::size_t i = 0; i < n; ++i) m[i] = keep * m[i] + u[i];
}

HS_CLONES void advance(float momentum, std::size_t n, const float* __restrict step,
                       const float* __restrict m, float* __restrict slow) {
  for (std::size_t i = 0; i < n; ++i) slow[i] += step[i] + momentum * m[i];
}

HS_CLONES void extrapolate_all(float factor, std::size_t n, const float* __restrict w,
                               const float* __restrict slow, float* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = slow[i] + factor * (w[i] - slow[i]);
}

}  // namespace

void outer_step(const OuterStep& step, std::span<const float> w, std::span<const float> in,
                std::span<const float> base, std::span<float> slow, std::span<float> m,
                std::span<float> buffer) {
  const std::size_t n = w.size();
  HS_CHECK(slow.size() == n && m.size() == n && (buffer.empty() || buffer.size() == n));
  HS_CHECK(in.size() == base.size() && (in.empty() || in.size() == n));
  alignas(64) float d[kPiece], u[kPiece], parts[kPiece];
  for (std::size_t at = 0; at < n; at += kPiece) {
    const std::size_t here = std::min(kPiece, n - at);
    moved(here, w.data() + at, slow.data() + at, d);
    if (in.empty()) {
      sums_alone(step, here, d, u, parts);
    } else {
      sums_with(step, here, d, in.data() + at, base.data() + at, u, parts);
    }
    if (buffer.empty()) {
      gather(step.keep, here, u, m.data() + at);
    } else {
      add(here, u, buffer.data() + at);
      if (step.flush) {
        gather(step.keep, here, buffer.data() + at, m.data() + at);
        std::fill_n(buffer.data() + at, here, 0.0f);
      }
    }
    advance(step.momentum, here, parts, m.data() + at, slow.data() + at);
  }
}

void extrapolate(float factor, std::span<const float> w, std::span<const float> slow,
                 std::span<float> out) {
  HS_CHECK(slow.size() == w.size() && out.size() == w.size());
  extrapolate_all(factor, w.size(), w.data(), slow.data(), out.data());
}

}  // namespace hearsay::kernels
