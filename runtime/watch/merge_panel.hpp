// SPDX-License-Identifier: Apache-2.0
// Who merges with whom, as lines: for up to kMostInMatrix peers a matrix with a row for each
// receiver and a column for each sender, the newest merges beside it where there is room; for more
// peers, or too few lines, the newest merges only. Invariant: no line is wider than asked for, nor
// are there more lines. Pure; any lane; cost: a pass over the merges of the window.
#pragma once

#include <span>
#include <vector>

#include "runtime/app/styled_line.hpp"
#include "runtime/launch/pool_display.hpp"
#include "runtime/watch/merge_trail.hpp"

namespace hearsay::runtime {

constexpr std::size_t kMostInMatrix = 16;

struct MergePanel {
  std::span<const PeerView> peers;
  const MergeTrail& merges;
  double now_s = 0.0;
  bool utf8 = true;
};

// Lines that the whole matrix takes, title included; 0 when there are too many peers for one.
int matrix_lines(std::size_t peers);
// At most `rows` lines; none when there is no room for a title and something below it.
std::vector<StyledLine> draw_merges(const MergePanel& panel, int columns, int rows);

}  // namespace hearsay::runtime
