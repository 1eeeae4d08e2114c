// SPDX-License-Identifier: Apache-2.0
// A sign of life of one peer, carried by everybody's frames: which start of it, and how many
// heartbeats that start has had. Whoever passes it on adds nothing, so the higher (incarnation,
// beat) is always the newer news (van Renesse, Minsky, Hayden 1998, "A gossip-style failure
// detection service"; piggy-backing as in SWIM, Das, Gupta, Motivala 2002). Plain data.
#pragma once

#include <cstdint>
#include <limits>

#include "gossip/archive.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::gossip {

struct Pulse {
  // The beat of a start that has said goodbye: higher than any other.
  static constexpr std::uint32_t kLeft = std::numeric_limits<std::uint32_t>::max();

  kernels::PeerId peer;
  std::uint32_t incarnation = 0;
  std::uint32_t beat = 0;

  friend bool operator==(const Pulse&, const Pulse&) = default;
  void state(Archive& a) { a("peer", peer)("incarnation", incarnation)("beat", beat); }
};

}  // namespace hearsay::gossip
