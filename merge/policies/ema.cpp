// SPDX-License-Identifier: Apache-2.0
#include "merge/policies/ema.hpp"

#include <cmath>
#include <numbers>

#include "kernels/core/check.hpp"

namespace hearsay::merge {

Ema::Ema(double first, double last, Shape shape) : first_(first), last_(last), shape_(shape) {
  HS_CHECK(first >= 0.0 && first <= 1.0 && last >= 0.0 && last <= 1.0);
}

double Ema::alpha(const Evidence& evidence) const {
  switch (shape_) {
    case Shape::constant: return first_;
    case Shape::linear: return first_ + (last_ - first_) * evidence.progress;
    case Shape::cosine: break;
  }
  return first_ + (last_ - first_) * 0.5 * (1.0 - std::cos(std::numbers::pi * evidence.progress));
}

}  // namespace hearsay::merge
