// SPDX-License-Identifier: Apache-2.0
// One picture of a page with all that belongs to it. A figure without drawing says in its finding
// why there is none and how to get it. `drawing`, `table` and `note` are HTML, made of escaped
// text; the others are plain text. Lane: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime::report {

struct Figure {
  std::string id;       // "timeline": the anchor in the page
  std::string title;    // what it answers
  std::string finding;  // what the data say, with numbers
  std::string drawing;  // SVG and its legend
  std::string table;    // the data
  std::string note;     // how it is drawn: thinning, estimates
  std::string data;     // JSON for the page's scripts; may be empty

  bool is_drawn() const { return !drawing.empty(); }
};

// A table of the page. Cells are plain text; numbers stand right.
class TableText {
 public:
  explicit TableText(const std::vector<std::string>& columns, std::string_view caption);
  void row(const std::vector<std::string>& cells);
  std::size_t rows() const { return rows_; }
  std::string finish() &&;

 private:
  std::string out_;
  std::size_t rows_ = 0;
};

// "<ul class=legend>": a swatch of each class and what it stands for.
struct LegendEntry {
  std::string css_class, shape,
      label;  // shape: "bar", "line", "dash", "dot", "ring", "cross", "band"
};
std::string legend(const std::vector<LegendEntry>& entries);

}  // namespace hearsay::runtime::report
