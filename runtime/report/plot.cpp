// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/plot.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr double kLeft = 62.0, kBottom = 44.0, kTop = 26.0, kRight = 20.0;
constexpr int kMostTicks = 12;

// What one of the unit on the axis is in the values' own.
double unit_size(double high, Unit unit) {
  if (unit == Unit::percent) return 0.01;
  if (unit == Unit::seconds)
    return high >= 7200.0 ? 3600.0 : high >= 180.0 ? 60.0 : high >= 1.0 ? 1.0 : 1e-3;
  if (unit == Unit::bytes) {
    double size = 1.0;
    while (high / size >= 1024.0 && size < 1e12) size *= 1024.0;
    return size;
  }
  if (unit == Unit::count) return high >= 2e6 ? 1e6 : high >= 2e3 ? 1e3 : 1.0;
  return 1.0;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int wanted) {
  if (!(high > low) || !std::isfinite(high - low)) return {low};
  const double raw = (high - low) / std::clamp(wanted, 1, 8);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= raw * 0.999) break;
  }
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1.0) {
    ticks.push_back(k * step);
    if (ticks.size() == kMostTicks) break;
  }
  return ticks;
}

double Scale::at(double value) const {
  if (!(high > low)) return (from_px + to_px) / 2.0;
  const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
  return from_px + share * (to_px - from_px);
}

std::string unit_suffix(double high, Unit unit) {
  const double size = unit_size(high, unit);
  if (unit == Unit::percent) return "%";
  if (unit == Unit::seconds)
    return size == 3600.0 ? "h" : size == 60.0 ? "min" : size == 1.0 ? "s" : "ms";
  if (unit == Unit::bytes) {
    const int power = static_cast<int>(std::round(std::log2(size) / 10.0));
    return std::vector<std::string>{"B", "KiB", "MiB", "GiB", "TiB"}[std::clamp(power, 0, 4)];
  }
  if (unit == Unit::count) return size == 1e6 ? "million" : size == 1e3 ? "thousand" : "";
  return "";
}

std::string tick_text(double value, double step, Unit) {
  if (std::abs(value) < step * 1e-6) return "0";
  const int digits =
      step > 0.0 ? std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))) : 2;
  return fixed(value, std::min(digits, 6));
}

Plot Plot::at(double left, double top, double width, double height) {
  Plot plot;
  plot.x.from_px = left + kLeft;
  plot.x.to_px = left + width - kRight;
  plot.y.from_px = top + height - kBottom;
  plot.y.to_px = top + kTop;
  return plot;
}

void Plot::draw_axes(Drawing& drawing) const {
  const auto labelled = [](const std::string& label, double high, Unit unit) {
    const std::string suffix = unit_suffix(high, unit);
    return suffix.empty() ? label : label + " (" + suffix + ")";
  };
  const double y_size = unit_size(y.high, y_unit), x_size = unit_size(x.high, x_unit);
  const auto y_ticks = round_ticks(y.low / y_size, y.high / y_size, 6);
  const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : 0.0;
  for (const double tick : y_ticks) {
    const double at = y.at(tick * y_size);
    drawing.line(x.from_px, at, x.to_px, at, "grid");
    drawing.text(x.from_px - 8, at + 4.5, tick_text(tick, y_step, y_unit), "tick",
                 Drawing::Anchor::end);
  }
  drawing.line(x.from_px, y.from_px, x.to_px, y.from_px, "axis");
  drawing.text(x.from_px, y.to_px - 10, labelled(y_label, y.high, y_unit), "label");
  if (!(x.high > x.low)) return;
  const int wanted = static_cast<int>((x.to_px - x.from_px) / 58.0);
  const auto x_ticks = round_ticks(x.low / x_size, x.high / x_size, wanted);
  const double x_step = x_ticks.size() > 1 ? x_ticks[1] - x_ticks[0] : 0.0;
  for (const double tick : x_ticks) {
    const double at = x.at(tick * x_size);
    drawing.line(at, y.from_px, at, y.from_px + 5, "axis");
    drawing.text(at, y.from_px + 19, tick_text(tick, x_step, x_unit), "tick",
                 Drawing::Anchor::middle);
  }
  drawing.text(x.to_px, y.from_px + 37, labelled(x_label, x.high, x_unit), "label",
               Drawing::Anchor::end);
}

}  // namespace hearsay::runtime::report
