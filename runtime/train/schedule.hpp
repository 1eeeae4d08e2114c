// SPDX-License-Identifier: Apache-2.0
// Learning rate over a peer's own training budget.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace hearsay::runtime {

enum class ScheduleKind { constant, cosine };

// Factor on the base rate at `step` of `total` mini-batches. Cosine: from 1 to 0 over the budget
// (Loshchilov & Hutter 2017, arXiv 1608.03983, without restarts).
inline double schedule_factor(ScheduleKind kind, std::uint64_t step, std::uint64_t total) {
  if (kind == ScheduleKind::constant || total == 0) return 1.0;
  const double progress =
      static_cast<double>(step < total ? step : total) / static_cast<double>(total);
  return 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace hearsay::runtime
