// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearsay::runtime::report {
namespace {

constexpr std::size_t kCurvesForDeciles = 5;

}  // namespace

std::optional<double> value_at(const Curve& curve, double x) {
  if (curve.empty() || x < curve.front().x || x > curve.back().x) return std::nullopt;
  const auto after = std::lower_bound(curve.begin(), curve.end(), x,
                                      [](const Point& point, double at) { return point.x < at; });
  if (after == curve.begin() || after->x == x) return after->y;
  const Point& before = *std::prev(after);
  const double span = after->x - before.x;
  return span > 0.0 ? before.y + (after->y - before.y) * (x - before.x) / span : after->y;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

Band band_of(const std::vector<Curve>& curves, std::size_t places) {
  Band band;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::size_t all = 0;  // that are not empty
  for (const Curve& curve : curves) {
    if (curve.empty()) continue;
    ++all;
    low = std::min(low, curve.front().x);
    high = std::max(high, curve.back().x);
  }
  band.is_deciles = curves.size() >= kCurvesForDeciles;
  if (!(low <= high)) return band;
  if (low == high) places = 1;
  for (std::size_t i = 0; i < places; ++i) {
    const double share =
        places > 1 ? static_cast<double>(i) / static_cast<double>(places - 1) : 0.0;
    const double x = i + 1 == places ? high : low + (high - low) * share;
    std::vector<double> values;
    for (const Curve& curve : curves) {
      if (const auto value = value_at(curve, x)) values.push_back(*value);
    }
    if (values.empty() || values.size() * 2 < all) continue;
    double sum = 0.0;
    for (const double value : values) sum += value;
    band.x.push_back(x);
    band.mean.push_back(sum / static_cast<double>(values.size()));
    band.low.push_back(quantile(values, band.is_deciles ? 0.1 : 0.0));
    band.high.push_back(quantile(values, band.is_deciles ? 0.9 : 1.0));
    band.count.push_back(values.size());
  }
  return band;
}

std::size_t stride_for(std::size_t count, std::size_t most) {
  return most == 0 ? std::max<std::size_t>(1, count)
                   : std::max<std::size_t>(1, (count + most - 1) / most);
}

std::string stride_text(std::size_t stride, const std::string& thing) {
  if (stride <= 1) return "every " + thing;
  const std::size_t tens = stride % 100;
  const char* ending = tens >= 11 && tens <= 13 ? "th"
                       : stride % 10 == 1       ? "st"
                       : stride % 10 == 2       ? "nd"
                       : stride % 10 == 3       ? "rd"
                                                : "th";
  return "every " + std::to_string(stride) + ending + " " + thing;
}

Curve thinned(const Curve& curve, std::size_t most) {
  const std::size_t stride = stride_for(curve.size(), most);
  Curve kept;
  for (std::size_t i = 0; i < curve.size(); i += stride) kept.push_back(curve[i]);
  if (!curve.empty() && (curve.size() - 1) % stride != 0) kept.push_back(curve.back());
  return kept;
}

}  // namespace hearsay::runtime::report
