// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/figure.hpp"

#include <utility>

#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {

TableText::TableText(const std::vector<std::string>& columns, std::string_view caption) {
  out_ = "<table><caption>" + escape(caption) + "</caption><thead><tr>";
  for (const std::string& column : columns) out_ += "<th scope=\"col\">" + escape(column) + "</th>";
  out_ += "</tr></thead><tbody>\n";
}

void TableText::row(const std::vector<std::string>& cells) {
  ++rows_;
  out_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const char* tag = i == 0 ? "th scope=\"row\"" : "td";
    out_ += "<" + std::string(tag) + ">" + escape(cells[i]) + (i == 0 ? "</th>" : "</td>");
  }
  out_ += "</tr>\n";
}

std::string TableText::finish() && {
  out_ += "</tbody></table>\n";
  return std::move(out_);
}

std::string legend(const std::vector<LegendEntry>& entries) {
  std::string out = "<ul class=\"legend\">";
  for (const LegendEntry& entry : entries) {
    const std::string css = "class=\"" + entry.css_class + "\"";
    std::string mark;
    if (entry.shape == "bar" || entry.shape == "band") {
      mark = "<rect x=\"0\" y=\"2\" width=\"18\" height=\"10\" " + css + "/>";
    } else if (entry.shape == "line" || entry.shape == "dash") {
      mark = "<path d=\"M0 7L18 7\" " + css + "/>";
    } else if (entry.shape == "cross") {
      mark = "<path d=\"M5 3L13 11M13 3L5 11\" " + css + "/>";
    } else {
      mark = "<circle cx=\"9\" cy=\"7\" r=\"4.5\" " + css + "/>";
    }
    out += "<li><svg class=\"swatch\" width=\"18\" height=\"14\" aria-hidden=\"true\">" + mark +
           "</svg>" + escape(entry.label) + "</li>";
  }
  return out + "</ul>\n";
}

}  // namespace hearsay::runtime::report
