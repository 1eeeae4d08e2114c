// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/merge_panel.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>

#include "runtime/app/progress_text.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kWidestName = 6;
constexpr int kBetween = 4;  // the matrix and the list
constexpr int kTime = 8;
constexpr double kShortRun_s = 1000.0;  // in which whole seconds say too little

std::string fixed(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

class Drawing {
 public:
  Drawing(const MergePanel& panel, int columns)
      : panel_(panel), window_(panel.merges.lately(panel.now_s)), columns_(columns) {
    for (const PeerView& peer : panel.peers)
      name_ = std::clamp(columns_of(peer.name), name_, kWidestName);
  }

  StyledLine title(bool is_matrix) const {
    StyledLine line;
    line.add("merges", Style::bold);
    if (window_.merges.empty()) {
      line.add("  none yet", Style::dim);
      return line;
    }
    std::string text = "  the last " + std::to_string(window_.merges.size()) + ", in " +
                       fixed(window_.span_s < 0.995 ? "%.3f s" : "%.1f s", window_.span_s);
    if (is_matrix) text += panel_.utf8 ? "; a row took in a column's model" : "; row <- column";
    line.add(text, Style::dim);
    return line;
  }

  std::vector<StyledLine> matrix() const {
    const std::size_t n = panel_.peers.size();
    std::vector<unsigned> counts(n * n, 0);
    for (const SeenMerge& merge : window_.merges) {
      const std::size_t row = index_of(merge.into), column = index_of(merge.from);
      if (row < n && column < n) ++counts[row * n + column];
    }
    const unsigned most = std::max(1u, *std::max_element(counts.begin(), counts.end()));
    std::vector<StyledLine> lines(n + 1);
    lines[0].gap(name_);
    for (const PeerView& peer : panel_.peers) {
      lines[0].gap(1);
      lines[0].add_right(printable(peer.name), name_, name_style(peer));
    }
    lines[0].gap(2);
    lines[0].add_right("sum", 4, Style::dim);
    for (std::size_t row = 0; row < n; ++row) {
      StyledLine& line = lines[row + 1];
      line.add_left(printable(panel_.peers[row].name), name_, name_style(panel_.peers[row]));
      unsigned sum = 0;
      for (std::size_t column = 0; column < n; ++column) {
        const unsigned count = counts[row * n + column];
        sum += count;
        line.gap(1);
        add_cell(line, count, static_cast<double>(count) / most, row == column);
      }
      line.gap(2);
      line.add_right(std::to_string(sum), 4, Style::dim);
    }
    return lines;
  }
  int matrix_width() const {
    return name_ + static_cast<int>(panel_.peers.size()) * (name_ + 1) + 6;
  }

  // Newest first, as many columns of them as fit, each from top to bottom.
  std::vector<StyledLine> list(int columns, int rows) const {
    const int width = entry_width(), gap = 3;
    const int side_by_side = std::max(1, (columns + gap) / (width + gap));
    std::vector<StyledLine> lines;
    const auto& merges = window_.merges;
    for (int row = 0; row < rows; ++row) {
      StyledLine line;
      for (int column = 0; column < side_by_side; ++column) {
        const auto place = static_cast<std::size_t>(column * rows + row);
        if (place >= merges.size()) break;
        if (column > 0) line.gap(gap);
        add_entry(line, merges[merges.size() - 1 - place]);
      }
      if (line.columns() > 0) lines.push_back(std::move(line));
    }
    return lines;
  }
  int entry_width() const { return kTime + 2 + name_ + 1 + arrow_width() + 1 + name_ + 2 + 4; }
  bool has_merges() const { return !window_.merges.empty(); }

 private:
  static Style name_style(const PeerView& peer) {
    return peer.status.state == PeerStatus::State::lost ? Style::bad : Style::plain;
  }
  std::size_t index_of(const std::string& name) const {
    const auto found = std::find_if(panel_.peers.begin(), panel_.peers.end(),
                                    [&](const PeerView& peer) { return peer.name == name; });
    return static_cast<std::size_t>(found - panel_.peers.begin());
  }
  int arrow_width() const { return panel_.utf8 ? 1 : 2; }

  // Bright where much is going on.
  void add_cell(StyledLine& line, unsigned count, double share, bool is_own) const {
    if (is_own || count == 0) {
      line.add_right(is_own ? (panel_.utf8 ? "╲" : "\\") : (panel_.utf8 ? "·" : "."), name_,
                     Style::dim);
      return;
    }
    const std::string number = std::to_string(std::min(count, 999u));
    const Style style = share > 2.0 / 3   ? Style::good
                        : share > 1.0 / 3 ? Style::busy
                                          : Style::plain;
    line.add_right(number, name_, style);
  }

  void add_entry(StyledLine& line, const SeenMerge& merge) const {
    const bool is_short = panel_.now_s < kShortRun_s;
    line.add_right(is_short ? fixed("%.3fs", merge.at_s) : clock_text(merge.at_s), kTime,
                   Style::dim);
    line.gap(2);
    line.add_left(printable(merge.into), name_);
    line.add(panel_.utf8 ? " ← " : " <- ", Style::dim);
    line.add_left(printable(merge.from), name_);
    line.gap(2);
    line.add(fixed("%.2f", merge.alpha), Style::dim);
  }

  const MergePanel& panel_;
  const MergeTrail::Window window_;
  const int columns_;
  int name_ = 3;
};

}  // namespace

int matrix_lines(std::size_t peers) {
  return peers < 2 || peers > kMostInMatrix ? 0 : static_cast<int>(peers) + 2;
}

std::vector<StyledLine> draw_merges(const MergePanel& panel, int columns, int rows) {
  std::vector<StyledLine> lines;
  if (rows < 2 || panel.peers.size() < 2) return lines;
  const Drawing drawing(panel, columns);
  const int needed = matrix_lines(panel.peers.size());
  const bool is_matrix = needed > 0 && needed <= rows && drawing.matrix_width() <= columns;
  lines.push_back(drawing.title(is_matrix));
  if (is_matrix) {
    const int rest = columns - drawing.matrix_width() - kBetween;
    std::vector<StyledLine> newest;
    if (rest >= drawing.entry_width()) newest = drawing.list(rest, needed - 1);
    std::vector<StyledLine> matrix = drawing.matrix();
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      if (i < newest.size()) {
        matrix[i].gap(drawing.matrix_width() - matrix[i].columns() + kBetween);
        matrix[i].append(newest[i]);
      }
      lines.push_back(std::move(matrix[i]));
    }
  } else if (drawing.has_merges()) {
    const int most = std::min(rows - 1, 8);
    for (StyledLine& line : drawing.list(columns, most)) lines.push_back(std::move(line));
  }
  for (StyledLine& line : lines) line.clip(columns);
  return lines;
}

}  // namespace hearsay::runtime
