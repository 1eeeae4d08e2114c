// SPDX-License-Identifier: Apache-2.0
// A model as bf16 bits under a number: what one peer has published to another, and what that one
// holds. Bits are compared and sent as they are, so that -0 and +0 differ and a copy is the same on
// both sides to the last bit; the digest (XXH3-64 of all bits, little-endian) says so. Values never
// change once they are there. Cost: 2 B a weight, shared by all that hold the same; a pass each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gossip/archive.hpp"

namespace hearsay::gossip {

using Bf16Bits = std::vector<std::uint16_t>;
using Bf16BitsRef = std::shared_ptr<const Bf16Bits>;

struct Bf16Copy {
  std::uint32_t version = 0;  // of the sender's; 0: none is held
  Bf16BitsRef bits;           // null with version 0

  bool is_held() const { return bits != nullptr; }
  bool is(std::uint32_t number) const { return is_held() && version == number; }
  void drop() { *this = {}; }
  void state(Archive& archive);
};

// Nearest bf16 of each weight, never infinite; of `start` where the weight is not finite.
Bf16BitsRef bf16_bits(std::span<const float> weights, std::span<const float> start);
void widen_bits(std::span<const std::uint16_t> bits, std::span<float> values);
std::uint64_t digest_of(std::span<const std::uint16_t> bits);
// Where the two differ, ascending.
std::vector<std::uint32_t> changed_places(std::span<const std::uint16_t> before,
                                          std::span<const std::uint16_t> after);

}  // namespace hearsay::gossip
