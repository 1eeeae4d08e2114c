// SPDX-License-Identifier: Apache-2.0
// Rules that hold the newest models of several senders and merge their centre at once, so that a
// minority of hostile senders cannot choose where it lies. b models held outvote f hostile ones
// while b >= 2 f + 1. Each costs b times the waiting of a plain merge, and calls honest peers with
// unusual data hostile: what they know is trimmed away.
//   median        per coordinate, own weights included (Yin et al. 2018, arXiv 1803.01498)
//   trimmed_mean  the same without the f lowest and f highest values
//   krum          the one model that is nearest to most others (Blanchard et al. 2017, arXiv
//                 1703.02757)
#pragma once

#include <cstdint>
#include <span>

#include "merge/snapshot.hpp"

namespace hearsay::merge {

struct CrowdRule {
  enum class Kind { median, trimmed_mean, krum } kind = Kind::median;
  std::uint32_t models = 5;   // b, of distinct senders
  std::uint32_t hostile = 1;  // f
};

// The centre of `models` and the own weights. All of one size, finite, 1 to 31 models; out overlaps
// none. Fewer models than the rule asks for weaken f to what they allow. Cost of krum: models^2 / 2
// distances, 8 B a value each.
void crowd_center(const CrowdRule& rule, std::span<const float> own,
                  std::span<const SnapshotRef> models, std::span<float> out);

}  // namespace hearsay::merge
