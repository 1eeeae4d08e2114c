// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/estimate.hpp"

#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace hearsay::runtime {

Estimate estimate(std::span<const double> values) {
  Estimate e{values.size(), std::nan(""), std::nullopt};
  if (values.empty()) return e;
  const auto n = static_cast<double>(e.n);
  double sum = 0.0, squares = 0.0;
  for (const double value : values) sum += value;
  e.mean = sum / n;
  if (e.n < 2) return e;
  for (const double value : values) squares += (value - e.mean) * (value - e.mean);
  const double t = quantile(boost::math::students_t(n - 1.0), 0.975);
  e.half_width = t * std::sqrt(squares / (n - 1.0) / n);
  return e;
}

}  // namespace hearsay::runtime
