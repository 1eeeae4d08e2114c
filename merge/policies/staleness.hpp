// SPDX-License-Identifier: Apache-2.0
// Weighs an incoming model down by how far the receiver's training is ahead of it: 2^(-age /
// half_life), both in the receiver's mini-batches. Invariant: 0 < factor <= 1, monotone in age.
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class Staleness final : public Modifier {
 public:
  explicit Staleness(double half_life_steps);  // > 0
  double factor(const Evidence& evidence) const override;

 private:
  double half_life_steps_;
};

}  // namespace hearsay::merge
