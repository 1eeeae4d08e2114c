// SPDX-License-Identifier: Apache-2.0
// A live pool as lines: a heading, one row a peer, a footer. Columns give way one after the other
// as the window gets narrower: bytes sent, partner, sparkline, speed, the state's word, accuracy,
// progress bar, loss. Invariant: no line is wider than asked for, nor are there more lines.
// Pure; any lane; cost: a few hundred bytes a peer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/app/loss_history.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/launch/pool_display.hpp"

namespace hearsay::runtime {

struct PoolPicture {
  std::span<const PeerView> peers;
  const std::vector<LossHistory>& losses;  // one a peer, or fewer
  double elapsed_s = 0.0;
  bool utf8 = true;
  std::optional<PoolNow> now = std::nullopt;  // when the watcher has said it
};

constexpr int kWidestTable = 100;

// At most `rows` lines of at most min(columns, kWidestTable) columns; the last one is the footer.
std::vector<StyledLine> draw_pool(const PoolPicture& picture, int columns, int rows);

}  // namespace hearsay::runtime
