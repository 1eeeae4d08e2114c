// SPDX-License-Identifier: Apache-2.0
// Trusts the model that is surer of the truth: factor 2 c_in^g / (c_in^g + c_own^g), c = mean
// probability of the true class on the receiver's probe set, which neither model trained on. 1 when
// both are equally sure, below 2 always.
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class Confidence final : public Modifier {
 public:
  explicit Confidence(double exponent);  // g >= 0
  double factor(const Evidence& evidence) const override;
  bool symmetric() const override { return false; }
  bool needs_confidence() const override { return true; }

 private:
  double exponent_;
};

}  // namespace hearsay::merge
