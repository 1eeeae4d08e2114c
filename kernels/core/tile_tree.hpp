// SPDX-License-Identifier: Apache-2.0
// The one tree along which all sums over values run, on CPU and GPU, whatever threads or grid:
//   tile    4096 values: accumulator a of 1024 adds values a, a + 1024, a + 2048, a + 3072;
//           four neighbours make (0 + 1) + (2 + 3), 32 of these a halving tree, the eight trees of
//           a tile are added in order. A GPU block of 256 threads with 16-byte loads does just
//           this, and a CPU adds rows of 1024 elementwise.
//   group   1024 tiles: slot s of 256 adds tiles s, s + 256, s + 512, s + 768; the slots as above.
//   total   groups in order.
#pragma once

#include <cstddef>

namespace hearsay::kernels {

inline constexpr std::size_t kTileValues = 4096;
inline constexpr std::size_t kRowValues = 1024;  // accumulators of a tile
inline constexpr std::size_t kGroupTiles = 1024;
inline constexpr std::size_t kTreeSlots = 256, kTreeWidth = 32, kTreeCount = 8;

constexpr std::size_t tiles_of(std::size_t n) { return n / kTileValues + (n % kTileValues != 0); }

}  // namespace hearsay::kernels
