// SPDX-License-Identifier: Apache-2.0
// The random choices of the sketches, for CPU and GPU alike: Philox with the seed as its key and a
// counter that names the choice. Tiles are dealt to 256 chains; visit k of chain c is tile
// k * 256 + c. A chain's sums run in the order of its visits, chains are added in their order, so
// that no grid and no number of threads changes a bit.
#pragma once

#include <cstdint>

#include "kernels/core/host_device.hpp"
#include "kernels/core/philox.hpp"

namespace hearsay::kernels {

inline constexpr std::uint32_t kSketchChains = 256;
inline constexpr std::uint32_t kSketchRun = 32;  // visits that one block of signs lasts

// What the last word of the counter says; rows of a CountSketch come after the fixed ones.
enum class SketchUse : std::uint32_t { placement = 0, srht_in = 1, srht_out = 2, row = 16 };

HS_HD inline PhiloxBlock sketch_words(std::uint64_t seed, std::uint32_t what, std::uint32_t chain,
                                      std::uint32_t run, std::uint32_t use) {
  return philox_block({{what, chain, run, use}}, static_cast<std::uint32_t>(seed),
                      static_cast<std::uint32_t>(seed >> 32));
}

// Where a tile goes: eights of values move up by `turn` eights, value l of an eight to l ^ swap.
struct SketchPlace {
  std::uint32_t turn, swap;
};

HS_HD inline SketchPlace sketch_place(std::uint32_t word, std::uint32_t eights) {
  return {static_cast<std::uint32_t>((std::uint64_t{word} * eights) >> 32), word & 7u};
}

// Bit 31 of this is the sign for visit `k` of what owns `word`.
HS_HD inline std::uint32_t sign_at(std::uint32_t word, std::uint32_t k) {
  return (word << (31u - k % kSketchRun)) & 0x80000000u;
}

}  // namespace hearsay::kernels
