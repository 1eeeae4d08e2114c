// SPDX-License-Identifier: Apache-2.0
#include "merge/policies/norm_clip.hpp"

#include <cmath>

namespace hearsay::merge {

double NormClip::factor(const Evidence& evidence) const {
  const double norm = std::sqrt(evidence.stats.displacement_sq);
  return norm > evidence.clip_radius ? evidence.clip_radius / norm : 1.0;
}

}  // namespace hearsay::merge
