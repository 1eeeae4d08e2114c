// SPDX-License-Identifier: Apache-2.0
#include "merge/policies/staleness.hpp"

#include <cmath>

#include "kernels/core/check.hpp"

namespace hearsay::merge {

Staleness::Staleness(double half_life_steps) : half_life_steps_(half_life_steps) {
  HS_CHECK(half_life_steps > 0.0);
}

double Staleness::factor(const Evidence& evidence) const {
  return std::exp2(-evidence.age_steps / half_life_steps_);
}

}  // namespace hearsay::merge
