// SPDX-License-Identifier: Apache-2.0
// Refuses models that have moved against the own movement: cosine of (incoming - start) with (own -
// start) below `least`, where start is the own model at the start of the current block. Refuses
// nothing while the own model has not moved.
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class CosineGate final : public Modifier {
 public:
  explicit CosineGate(double least) : least_(least) {}  // -1 .. 1
  double factor(const Evidence&) const override { return 1.0; }
  std::string_view objection(const Evidence& evidence) const override {
    return evidence.stats.local_sq > 0.0 && evidence.agreement() < least_ ? "against the own way"
                                                                          : std::string_view();
  }
  bool symmetric() const override { return false; }

 private:
  double least_;
};

}  // namespace hearsay::merge
