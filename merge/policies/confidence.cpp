// SPDX-License-Identifier: Apache-2.0
#include "merge/policies/confidence.hpp"

#include <cmath>

#include "kernels/core/check.hpp"

namespace hearsay::merge {

Confidence::Confidence(double exponent) : exponent_(exponent) { HS_CHECK(exponent >= 0.0); }

double Confidence::factor(const Evidence& evidence) const {
  const double in = std::pow(evidence.remote_confidence, exponent_);
  const double own = std::pow(evidence.local_confidence, exponent_);
  return in + own > 0.0 ? 2.0 * in / (in + own) : 1.0;
}

}  // namespace hearsay::merge
