// SPDX-License-Identifier: Apache-2.0
// Self-centred clipping (He et al. 2022, arXiv 2202.01545): the own model moves by no more than
// alpha * radius, whatever comes in. The radius of the theory needs numbers that nobody has; here
// it is twice the median displacement of the last senders (Displacements), so that a minority
// cannot widen it. A sender that stays inside still drags, at a bounded speed.
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class NormClip final : public Modifier {
 public:
  double factor(const Evidence& evidence) const override;
  bool symmetric() const override { return false; }
};

}  // namespace hearsay::merge
