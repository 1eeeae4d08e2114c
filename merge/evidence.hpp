// SPDX-License-Identifier: Apache-2.0
// All that a merge rule may look at. Filled by the receiver at a mini-batch boundary; scalars only,
// so that rules are tested without tensors.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/ops/merge_ops.hpp"

namespace hearsay::merge {

struct Evidence {
  kernels::MergeStats stats;  // norms and dot products of the displacement
  double progress = 0.0;      // 0 .. 1: share of the receiver's epoch budget already trained
  double age_steps =
      0.0;  // mini-batches that the receiver's progress is ahead of the incoming snapshot
  std::uint64_t local_samples =
      0;  // trained by the receiver since the two peers last exchanged weights
  std::uint64_t remote_samples = 0;  // same, of the sender
  double local_confidence =
      0.0;  // mean p(true class) on the receiver's probe set, if the rule asks for it
  double remote_confidence = 0.0;  // of the incoming model, same probe set
  double clip_radius = 0.0;        // what +norm-clip lets through whole
  std::optional<double> alike;     // 0 to 1: how alike the two train; none: not known, not asked

  bool own_weights_finite() const { return std::isfinite(stats.weights_sq); }

  // Displacement relative to the receiver's own norm; 0 for an all-zero receiver.
  double relative_norm() const {
    return stats.weights_sq > 0.0 ? std::sqrt(stats.displacement_sq / stats.weights_sq) : 0.0;
  }
  // Cosine between the displacement and the receiver's movement in its current block; 0 when either
  // is zero.
  double cosine() const {
    const double product = stats.displacement_sq * stats.local_sq;
    return product > 0.0 ? stats.dot / std::sqrt(product) : 0.0;
  }
  // Cosine between what the incoming and what the own model have moved since the own block began:
  // (displacement + local) with local. 0 when either has not moved.
  double agreement() const {
    const double theirs_sq = stats.displacement_sq + 2.0 * stats.dot + stats.local_sq;
    const double product = theirs_sq * stats.local_sq;
    return product > 0.0 ? (stats.dot + stats.local_sq) / std::sqrt(product) : 0.0;
  }
};

}  // namespace hearsay::merge
