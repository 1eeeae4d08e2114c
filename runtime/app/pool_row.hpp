// SPDX-License-Identifier: Apache-2.0
// One peer of a live pool as one line under a heading. A lost peer shows why, in place of what it
// last measured. Pure; any lane; cost: a few hundred bytes.
#pragma once

#include <optional>
#include <vector>

#include "runtime/app/loss_history.hpp"
#include "runtime/app/pool_columns.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/launch/pool_display.hpp"

namespace hearsay::runtime {

// What all rows of one picture share.
struct RowLook {
  std::vector<Column> columns;
  std::optional<LossScale> scale;  // none before the first loss
  bool utf8 = true;
};

StyledLine pool_heading(const RowLook& look);
StyledLine pool_row(const RowLook& look, const PeerView& view, const LossHistory& losses);

}  // namespace hearsay::runtime
