// SPDX-License-Identifier: Apache-2.0
// alpha = s_in / (s_in + s_own), s = samples trained since the two peers last exchanged weights.
// Corrects for speed: a peer that trained twice as much counts twice. Two peers without new samples
// weigh the same (never NaN).
#pragma once

#include "merge/policy.hpp"

namespace hearsay::merge {

class SampleWeighted final : public Rule {
 public:
  double alpha(const Evidence& evidence) const override;
  bool symmetric() const override { return false; }
};

}  // namespace hearsay::merge
