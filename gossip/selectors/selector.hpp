// SPDX-License-Identifier: Apache-2.0
// Picks the partner of a merge among the topology's neighbours that are neither gone nor already
// taken in this burst: evenly, or by weights. Cost: O(degree) up to kListDegree neighbours,
// expected O(1) rejection above (pools of thousands).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "gossip/archive.hpp"
#include "gossip/topology/topology.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {

struct Choice {
  PeerId partner;
  std::uint32_t pool = 0;    // candidates it was drawn from
  double probability = 0.0;  // with which it was drawn from them
  std::uint64_t rng = 0;     // stream position of the draw
};

class Selector {
 public:
  Selector(PeerId self, const Topology& topology, kernels::Rng rng)
      : self_(self), topology_(topology), rng_(rng) {}

  // `excluded(peer)` tells who may not be chosen; `excluded_count` bounds how many those are.
  // `weights`: [peer] >= 0, in proportion to which those who may be chosen are drawn; where all of
  // theirs are 0, or none are given, evenly. With weights O(degree) whatever the degree.
  std::optional<Choice> choose(std::uint64_t started, const std::function<bool(PeerId)>& excluded,
                               std::size_t excluded_count, std::span<const double> weights = {});

  void state(Archive& a) { a("rng", rng_); }

 private:
  // One of them, of which there is one at least.
  Choice draw(std::span<const PeerId> candidates, std::span<const double> weights);

  PeerId self_;
  const Topology& topology_;
  kernels::Rng rng_;
};

}  // namespace hearsay::gossip
