// SPDX-License-Identifier: Apache-2.0
// What a model has to tell: u = w - anchor, with optional momentum and optional memory of what was
// not sent, and the facts from which a threshold is chosen. Agreement class D0 with the CUDA twin.
//
// A value, each operation rounded to fp32:
//   d = w - anchor
//   momentum:  m = mu * m + d;  base = m, or d + mu * m (the new m) with Nesterov;  else base = d
//   u = base + error, if there is an error memory
// A value whose u is not finite: m and anchor stay, u is 0 in `out`, and it is counted in `bad`, in
// bin kNotFiniteBin, and not in the sums. Bytes a value: 8 (w, anchor), + 8 with momentum, + 4 with
// error, + 4 with out, + 4 with refresh.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/core/workers.hpp"
#include "kernels/ops/magnitude_bins.hpp"

namespace hearsay::kernels {

// Equal sizes, or empty where the part is not wanted. No overlap, except that out may be error.
struct DeltaArrays {
  std::span<const float> w;
  std::span<float> anchor;
  std::span<float> momentum;
  std::span<const float> error;
  std::span<float> out;
};

struct DeltaRule {
  float mu = 0.0f;
  bool is_nesterov = false;    // needs momentum
  bool is_refreshing = false;  // anchor = w afterwards
};

struct DeltaResult {
  double update_sq = 0.0;   // sum u^2, fp64 over exact fp32 u
  float max_update = 0.0f;  // max |u|
  std::uint64_t bad = 0;
  std::array<std::uint64_t, kCoarseBins> histogram{};  // of |u|; counts sum to n
};

// Allocates 8 bytes per 4096 values and 48 KB a worker.
DeltaResult delta(const DeltaArrays& arrays, const DeltaRule& rule, Workers& workers);

}  // namespace hearsay::kernels
