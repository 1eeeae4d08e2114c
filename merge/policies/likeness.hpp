// SPDX-License-Identifier: Apache-2.0
// Weighs a model by how alike its sender and the receiver train: factor = likeness^g, where the
// likeness is (1 + cosine of their directions) / 2 (gossip/communities/steering.hpp). Invariant:
// 0 <= factor <= 1, monotone; 1 where nothing is known, so that a pool starts as without. Both
// sides of an exchange use the alpha of whoever was asked, hence its view of the likeness.
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class Likeness final : public Modifier {
 public:
  explicit Likeness(double exponent);  // >= 0; 0: no weight to it
  double factor(const Evidence& evidence) const override;
  bool needs_likeness() const override { return true; }

 private:
  double exponent_;
};

}  // namespace hearsay::merge
