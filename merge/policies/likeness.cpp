// SPDX-License-Identifier: Apache-2.0
#include "merge/policies/likeness.hpp"

#include <cmath>

#include "kernels/core/check.hpp"

namespace hearsay::merge {

Likeness::Likeness(double exponent) : exponent_(exponent) { HS_CHECK(exponent >= 0.0); }

double Likeness::factor(const Evidence& evidence) const {
  return evidence.alike ? std::pow(*evidence.alike, exponent_) : 1.0;
}

}  // namespace hearsay::merge
