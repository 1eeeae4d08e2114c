// SPDX-License-Identifier: Apache-2.0
// A mean over seeds and how sure it is: the half width of its 95 % confidence interval, by
// Student's t; values are taken as independent and about normal. Pure. Cost: two passes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace hearsay::runtime {

struct Estimate {
  std::size_t n = 0;
  double mean = 0.0;                 // NaN of no values
  std::optional<double> half_width;  // none for fewer than two values
};
Estimate estimate(std::span<const double> values);

}  // namespace hearsay::runtime
