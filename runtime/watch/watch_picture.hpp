// SPDX-License-Identifier: Apache-2.0
// A watched pool as lines: what it is, its table (as `hearsay launch` shows it), who merges with
// whom, what has changed, and what is wrong. Invariant: at most `rows` lines of at most
// min(columns, 100). Pure; any lane; cost: that of the table and the panel.
#pragma once

#include <string>
#include <vector>

#include "runtime/app/styled_line.hpp"
#include "runtime/watch/watched_pool.hpp"

namespace hearsay::runtime {

struct WatchLook {
  int columns = 80, rows = 24;
  bool utf8 = true;
  bool has_keys = false;  // says which key ends it
};

std::vector<StyledLine> draw_watch(const WatchedPool& pool, const std::string& source,
                                   const WatchLook& look);
// "[00:00:31] 8/8 peers  samples 412k ...", and of a change "[00:00:33] p03 lost (...)".
std::string plain_progress(const WatchedPool& pool, bool utf8);
std::string plain_change(const PoolChange& change);

}  // namespace hearsay::runtime
