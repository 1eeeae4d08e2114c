// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/watch_picture.hpp"

#include <algorithm>

#include "runtime/app/pool_numbers.hpp"
#include "runtime/app/pool_table.hpp"
#include "runtime/watch/merge_panel.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kMostChanges = 3;
constexpr int kTableLeast = 4;  // heading, a peer, how many more, footer
constexpr int kFewMerges = 5;   // lines of the panel where there is no room for a matrix

StyledLine title(const WatchedPool& pool, const std::string& source, int columns) {
  StyledLine line;
  line.add(printable(pool.snapshot.run.empty() ? source : pool.snapshot.run), Style::bold);
  std::string what = pool.has_virtual_clock ? "simulation, virtual time" : "live pool";
  if (source.find(':') != std::string::npos) what += " at " + source;
  line.add("  " + printable(what), Style::dim);
  if (!pool.verdict.empty()) {
    line.add("  ended: ", Style::dim);
    line.add(printable(pool.verdict), pool.verdict == "ok" ? Style::good : Style::bad);
  }
  line.clip(columns);
  return line;
}

std::vector<StyledLine> bottom(const WatchedPool& pool, const WatchLook& look, int columns,
                               int rows) {
  std::vector<StyledLine> lines;
  const auto first = pool.changes.size() - std::min<std::size_t>(pool.changes.size(), kMostChanges);
  for (std::size_t i = first; i < pool.changes.size(); ++i) {
    StyledLine line;
    line.add(clock_text(pool.changes[i].at_s), Style::dim);
    line.add("  " + printable(pool.changes[i].text));
    lines.push_back(std::move(line));
  }
  if (!pool.trouble.empty()) {
    for (const std::string& text : broken_into(printable(pool.trouble_text()), columns)) {
      StyledLine line;
      line.add(text, Style::waiting);
      lines.push_back(std::move(line));
    }
  }
  if (look.has_keys) {
    StyledLine line;
    line.add("q ends", Style::dim);
    lines.push_back(std::move(line));
  }
  if (static_cast<int>(lines.size()) > rows) lines.erase(lines.begin(), lines.end() - rows);
  for (StyledLine& line : lines) line.clip(columns);
  return lines;
}

void add_block(std::vector<StyledLine>& lines, std::vector<StyledLine> block, bool has_gap) {
  if (block.empty()) return;
  if (has_gap) lines.emplace_back();
  std::move(block.begin(), block.end(), std::back_inserter(lines));
}

}  // namespace

std::vector<StyledLine> draw_watch(const WatchedPool& pool, const std::string& source,
                                   const WatchLook& look) {
  const int columns = std::clamp(look.columns, 1, kWidestTable), rows = std::max(look.rows, 1);
  const auto& peers = pool.snapshot.peers;
  std::vector<StyledLine> lines{title(pool, source, columns)};
  std::vector<StyledLine> below =
      bottom(pool, look, columns, std::max(0, std::min(rows - 1, rows / 3)));
  int room = rows - 1 - static_cast<int>(below.size());
  // Blank lines between the parts are the first to go.
  const int table_wanted = static_cast<int>(peers.size()) + 3;
  const int matrix = matrix_lines(peers.size());
  const int panel_wanted = matrix > 0 ? matrix : kFewMerges;
  const bool is_airy = table_wanted + panel_wanted + 3 <= room;
  if (is_airy) room -= below.empty() ? 2 : 3;
  if (!peers.empty() && room > 0) {
    int panel = panel_wanted;
    if (table_wanted + panel > room) panel = std::min(kFewMerges, room / 3);
    if (room - panel < kTableLeast) panel = 0;
    const PoolPicture picture{peers, pool.losses, pool.snapshot.now.wall_s, look.utf8,
                              pool.snapshot.now};
    std::vector<StyledLine> table = draw_pool(picture, columns, std::max(room - panel, 1));
    const int rest = room - static_cast<int>(table.size());
    add_block(lines, std::move(table), is_airy);
    add_block(lines,
              draw_merges({peers, pool.merges, pool.snapshot.now.wall_s, look.utf8}, columns,
                          std::min(rest, matrix > 0 && rest >= matrix ? matrix : rest)),
              is_airy);
  }
  add_block(lines, std::move(below), is_airy);
  if (static_cast<int>(lines.size()) > rows) lines.resize(static_cast<std::size_t>(rows));
  return lines;
}

std::string plain_progress(const WatchedPool& pool, bool utf8) {
  const auto& peers = pool.snapshot.peers;
  std::string line = "[" + clock_text(pool.snapshot.now.wall_s) + "] " +
                     progress_line(numbers_of(peers, pool.snapshot.now), utf8);
  if (const double left_s = seconds_left(peers); left_s >= 0.0 && pool.verdict.empty())
    line += "  left " + clock_text(left_s);
  return line;
}

std::string plain_change(const PoolChange& change) {
  return "[" + clock_text(change.at_s) + "] " + printable(change.text);
}

}  // namespace hearsay::runtime
