// SPDX-License-Identifier: Apache-2.0
// Writes an inline SVG drawing: marks by class names, coloured by page.css for light and dark.
// Invariant: all text is escaped; coordinates have one digit after the point, which keeps pages
// small. Width is kWidth for every figure, so that texts have one size. Lane: any. Cost: appends.
#pragma once

#include <string>
#include <string_view>

namespace hearsay::runtime::report {

inline constexpr double kWidth = 900.0;

class Drawing {
 public:
  // `label` is what a screen reader says of the whole drawing.
  Drawing(double height, std::string_view label, std::string_view css_class = "");

  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  // `title` is what the mark stands for: shown when it is pointed at or reached by keyboard.
  void rect(double x, double y, double width, double height, std::string_view css_class,
            std::string_view title = {}, std::string_view attributes = {});
  void circle(double x, double y, double radius, std::string_view css_class,
              std::string_view title = {}, std::string_view attributes = {});
  // A picture inside the page; `bytes` are those of a PNG.
  void image(double x, double y, double side, std::string_view bytes, std::string_view title);
  void path(std::string_view d, std::string_view css_class, std::string_view title = {},
            std::string_view attributes = {});
  enum class Anchor { start, middle, end };
  void text(double x, double y, std::string_view text, std::string_view css_class = {},
            Anchor anchor = Anchor::start, std::string_view attributes = {});
  void open_group(std::string_view css_class, std::string_view attributes = {});
  void close_group() { out_ += "</g>\n"; }

  std::string finish() &&;

 private:
  void close(std::string_view css_class, std::string_view title, std::string_view attributes,
             std::string_view element);

  std::string out_;
};

// "M1 2L3 4" of points; a point that is no number breaks the line.
class PathText {
 public:
  void add(double x, double y);
  void close() { text_ += "Z"; }
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
  bool is_open_ = false;
};

}  // namespace hearsay::runtime::report
