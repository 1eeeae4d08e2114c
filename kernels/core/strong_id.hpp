// SPDX-License-Identifier: Apache-2.0
// Integers that cannot be mixed up at compile time and cost nothing.
#pragma once

#include <compare>
#include <cstdint>

namespace hearsay::kernels {

template <typename Tag>
struct StrongId {
  std::uint32_t value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::uint32_t v) : value(v) {}
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

using PeerId =
    StrongId<struct PeerTag>;  // index of a peer in its pool, 0 .. n - 1; printed as p00, p01, ...

}  // namespace hearsay::kernels
