// SPDX-License-Identifier: Apache-2.0
// A pair of axes inside a drawing: where a value stands, round ticks, labels with units. Invariant:
// ticks are multiples of 1, 2 or 5 times a power of ten, at most 8 an axis, and all inside. Lane:
// any (pure). Cost: a few marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/report/svg.hpp"

namespace hearsay::runtime::report {

// Round values from low to high, about `wanted` of them.
std::vector<double> round_ticks(double low, double high, int wanted);

struct Scale {
  double low = 0.0, high = 1.0;       // values
  double from_px = 0.0, to_px = 1.0;  // where they stand
  double at(double value) const;      // clamped to the scale
  bool holds(double value) const { return value >= low && value <= high; }
};

// Tick labels: as many digits as the step between ticks needs.
enum class Unit { number, percent, seconds, bytes, count };

struct Plot {
  Scale x, y;
  Unit x_unit = Unit::number, y_unit = Unit::number;
  std::string x_label, y_label;

  // The box with room for labels: `left` and `top` of the whole, `width` x `height`.
  static Plot at(double left, double top, double width, double height);
  // An x scale of no width gets a line only: its places are labelled by the caller.
  void draw_axes(Drawing& drawing) const;
};

std::string tick_text(double value, double step, Unit unit);
std::string unit_suffix(double high, Unit unit);  // "s", "min", "MiB", ...

}  // namespace hearsay::runtime::report
