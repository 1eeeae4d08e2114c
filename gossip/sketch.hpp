// SPDX-License-Identifier: Apache-2.0
// In which direction one peer trains, as a short projection of what its own mini-batches have done
// to its weights (communities/steering.hpp). Passed on by everybody as it came; of two the higher
// version is the newer. Plain data, shared by all that hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gossip/archive.hpp"
#include "kernels/core/half.hpp"
#include "kernels/core/strong_id.hpp"
#include "merge/packed.hpp"

namespace hearsay::gossip {

struct Sketch {
  kernels::PeerId peer;       // whose it is
  std::uint64_t version = 0;  // counts what the peer has made; starts of a peer are 2^32 apart
  merge::PackedRef values;    // bf16, little-endian
  void state(Archive& a) { a("peer", peer)("version", version)("values", values); }

  std::size_t size() const { return values ? values->bytes.size() / sizeof(std::uint16_t) : 0; }
  float value(std::size_t i) const {
    const std::uint8_t* at = values->bytes.data() + 2 * i;
    return kernels::widen(kernels::Bf16{static_cast<std::uint16_t>(at[0] | at[1] << 8)});
  }
};

// Whether every value is a finite number. Cost: 2 B a value.
inline bool all_finite(std::span<const std::uint8_t> bf16_bytes) {
  constexpr int kExponent = 0x7f80;  // all ones: infinity or none
  for (std::size_t i = 0; i + 1 < bf16_bytes.size(); i += 2) {
    const int bits = bf16_bytes[i] | bf16_bytes[i + 1] << 8;
    if ((bits & kExponent) == kExponent) return false;
  }
  return true;
}

}  // namespace hearsay::gossip
