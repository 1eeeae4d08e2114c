// SPDX-License-Identifier: Apache-2.0
#include "merge/policies/sample_weighted.hpp"

namespace hearsay::merge {

double SampleWeighted::alpha(const Evidence& evidence) const {
  const double in = static_cast<double>(evidence.remote_samples),
               own = static_cast<double>(evidence.local_samples);
  return in + own > 0.0 ? in / (in + own) : 0.5;
}

}  // namespace hearsay::merge
