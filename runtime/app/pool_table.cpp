// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/pool_table.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/app/pool_columns.hpp"
#include "runtime/app/pool_numbers.hpp"
#include "runtime/app/pool_row.hpp"
#include "runtime/app/result_json.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kLongestName = 12;
constexpr int kOneFooterLine = 90;  // columns from which the footer takes one line instead of two

std::vector<StyledLine> footer(const PoolPicture& picture, int columns, int most_lines) {
  const PoolNumbers pool = numbers_of(picture.peers, picture.now);
  const double left = seconds_left(picture.peers);
  std::vector<std::string> parts{clock_text(picture.elapsed_s)};
  if (left >= 0.0) parts.push_back("left " + clock_text(left));
  parts.push_back(std::to_string(pool.live) + "/" + std::to_string(pool.peers) + " peers");
  parts.push_back(merges_text(pool, false));
  parts.push_back("sent " + human_bytes(static_cast<double>(pool.payload_bytes)));
  if (const std::string target = target_text(picture.now); !target.empty()) {
    parts.push_back(target);
  }
  if (!std::isnan(pool.accuracy)) parts.push_back(accuracy_text(pool.accuracy));
  if (!std::isnan(pool.loss_mean)) {
    parts.push_back("loss " + loss_text(pool.loss_mean) + plus_minus(picture.utf8) +
                    loss_text(pool.loss_deviation));
  }
  parts.push_back("samples " + short_count(static_cast<double>(pool.samples)));
  std::vector<StyledLine> lines(1);
  for (const std::string& part : parts) {
    if (lines.back().columns() > 0 && lines.back().columns() + 2 + columns_of(part) > columns) {
      if (static_cast<int>(lines.size()) == most_lines) break;
      lines.emplace_back();
    }
    if (lines.back().columns() > 0) lines.back().gap(2);
    lines.back().add(part, Style::bold);
  }
  return lines;
}

StyledLine more_line(std::span<const PeerView> hidden) {
  const auto lost = std::count_if(hidden.begin(), hidden.end(), [](const PeerView& view) {
    return view.status.state == PeerStatus::State::lost;
  });
  StyledLine line;
  line.add("+ " + std::to_string(hidden.size()) + " more", Style::dim);
  if (lost > 0) line.add(" (" + std::to_string(lost) + " lost)", Style::bad);
  return line;
}

}  // namespace

std::vector<StyledLine> draw_pool(const PoolPicture& picture, int columns, int rows) {
  columns = std::clamp(columns, 1, kWidestTable);
  int name = 3;
  for (const PeerView& view : picture.peers) name = std::max(name, columns_of(view.name));
  const RowLook look{choose_columns(columns, std::min(name, kLongestName)),
                     common_scale(picture.losses, kWidestSpark), picture.utf8};
  std::vector<StyledLine> bottom =
      footer(picture, columns, columns >= kOneFooterLine || rows < 6 ? 1 : 2);
  const std::size_t room =
      static_cast<std::size_t>(std::max(0, rows - static_cast<int>(bottom.size())));
  const std::size_t peers = picture.peers.size();
  const bool has_heading = room > std::min<std::size_t>(peers, 3);
  const std::size_t places = room - (has_heading ? 1 : 0);
  const std::size_t shown = peers <= places ? peers : places - std::min<std::size_t>(places, 1);
  std::vector<StyledLine> lines;
  if (has_heading) lines.push_back(pool_heading(look));
  for (std::size_t peer = 0; peer < shown; ++peer) {
    const bool known = peer < picture.losses.size();
    lines.push_back(
        pool_row(look, picture.peers[peer], known ? picture.losses[peer] : LossHistory()));
  }
  if (shown < peers && places > 0) lines.push_back(more_line(picture.peers.subspan(shown)));
  lines.insert(lines.end(), bottom.begin(), bottom.end());
  for (StyledLine& line : lines) line.clip(columns);
  return lines;
}

}  // namespace hearsay::runtime
