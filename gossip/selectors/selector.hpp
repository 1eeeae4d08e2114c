// SPDX-License-Identifier: Apache-2.0
// Picks the partner of a merge: uniform among the topology's neighbours that are neither gone nor
// already taken in this burst. Cost: O(degree) up to kListDegree neighbours, expected O(1)
// rejection above (pools of thousands).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "gossip/archive.hpp"
#include "gossip/topology/topology.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {

struct Choice {
  PeerId partner;
  std::uint32_t pool = 0;  // candidates it was drawn from; probability 1 / pool
  std::uint64_t rng = 0;   // stream position of the draw
};

class Selector {
 public:
  Selector(PeerId self, const Topology& topology, kernels::Rng rng)
      : self_(self), topology_(topology), rng_(rng) {}

  // `excluded(peer)` tells who may not be chosen; `excluded_count` bounds how many those are.
  std::optional<Choice> choose(std::uint64_t started, const std::function<bool(PeerId)>& excluded,
                               std::size_t excluded_count);

  void state(Archive& a) { a("rng", rng_); }

 private:
  PeerId self_;
  const Topology& topology_;
  kernels::Rng rng_;
};

}  // namespace hearsay::gossip
