// SPDX-License-Identifier: Apache-2.0
// w += a (w_in - w): exponential moving average of what arrives. The share a is constant or moves
// from `first` to `last` with the receiver's progress: linear, or cosine (slow at both ends).
// Rising a = merging more late in the run.
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class Ema final : public Rule {
 public:
  enum class Shape { constant, linear, cosine };
  Ema(double first, double last, Shape shape);  // both in 0 .. 1
  double alpha(const Evidence& evidence) const override;

 private:
  double first_, last_;
  Shape shape_;
};

}  // namespace hearsay::merge
