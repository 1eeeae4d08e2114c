// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/svg.hpp"

#include <cmath>
#include <utility>

#include "runtime/report/png.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + coordinate(value) + "\"";
}

}  // namespace

Drawing::Drawing(double height, std::string_view label, std::string_view css_class) {
  out_ = "<svg class=\"drawing " + std::string(css_class) + "\" viewBox=\"0 0 " +
         coordinate(kWidth) + " " + coordinate(height) + "\" role=\"group\" aria-label=\"" +
         escape(label) + "\">\n";
}

void Drawing::close(std::string_view css_class, std::string_view title, std::string_view attributes,
                    std::string_view element) {
  if (!css_class.empty()) out_ += " class=\"" + std::string(css_class) + "\"";
  if (!attributes.empty()) out_ += " " + std::string(attributes);
  if (title.empty()) {
    out_ += "/>\n";
    return;
  }
  out_ += "><title>" + escape(title) + "</title></" + std::string(element) + ">\n";
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  out_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
          attribute("y2", y2);
  close(css_class, {}, {}, "line");
}

void Drawing::rect(double x, double y, double width, double height, std::string_view css_class,
                   std::string_view title, std::string_view attributes) {
  out_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
          attribute("height", height);
  close(css_class, title, attributes, "rect");
}

void Drawing::circle(double x, double y, double radius, std::string_view css_class,
                     std::string_view title, std::string_view attributes) {
  out_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius);
  close(css_class, title, attributes, "circle");
}

void Drawing::image(double x, double y, double side, std::string_view bytes,
                    std::string_view title) {
  out_ += "<image" + attribute("x", x) + attribute("y", y) + attribute("width", side) +
          attribute("height", side) + " href=\"data:image/png;base64," + base64(bytes) + "\"";
  close("thumbnail", title, "role=\"img\" data-m", "image");
}

void Drawing::path(std::string_view d, std::string_view css_class, std::string_view title,
                   std::string_view attributes) {
  out_ += "<path d=\"" + std::string(d) + "\"";
  close(css_class, title, attributes, "path");
}

void Drawing::text(double x, double y, std::string_view text, std::string_view css_class,
                   Anchor anchor, std::string_view attributes) {
  out_ += "<text" + attribute("x", x) + attribute("y", y);
  if (anchor != Anchor::start)
    out_ += anchor == Anchor::end ? " text-anchor=\"end\"" : " text-anchor=\"middle\"";
  if (!css_class.empty()) out_ += " class=\"" + std::string(css_class) + "\"";
  if (!attributes.empty()) out_ += " " + std::string(attributes);
  out_ += ">" + escape(text) + "</text>\n";
}

void Drawing::open_group(std::string_view css_class, std::string_view attributes) {
  out_ += "<g class=\"" + std::string(css_class) + "\"";
  if (!attributes.empty()) out_ += " " + std::string(attributes);
  out_ += ">\n";
}

std::string Drawing::finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

void PathText::add(double x, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) {
    is_open_ = false;
    return;
  }
  text_ += (is_open_ ? "L" : "M") + coordinate(x) + " " + coordinate(y);
  is_open_ = true;
}

}  // namespace hearsay::runtime::report
