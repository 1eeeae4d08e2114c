// SPDX-License-Identifier: Apache-2.0
// Arithmetic of curves: means and bands over peers on a common axis, quantiles, thinning.
// Invariant: thinning keeps the first and the last and says its stride; a peer counts
// only where it has been measured. Pure; any lane. Cost: linear, sorting for quantiles.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearsay::runtime::report {

struct Point {
  double x = 0.0, y = 0.0;
};
using Curve = std::vector<Point>;  // x never decreases

struct Band {  // of several curves, at common places
  std::vector<double> x, mean, low, high;
  std::vector<std::size_t> count;
  bool is_deciles = false;  // low and high are p10 and p90; else minimum and maximum
};

// The value between two points; nothing outside the curve.
std::optional<double> value_at(const Curve& curve, double x);
// At `places` places, where at least half of the curves have a value: a mean over a few that happen
// to begin early or to end late would jump. p10 to p90 from 5 curves on.
Band band_of(const std::vector<Curve>& curves, std::size_t places);

double quantile(std::vector<double> values, double share);  // interpolated; NaN of none

// Every stride-th of `count` things, so that at most `most` are left.
std::size_t stride_for(std::size_t count, std::size_t most);
// "every 8th merge", "every merge"
std::string stride_text(std::size_t stride, const std::string& thing);
Curve thinned(const Curve& curve, std::size_t most);

}  // namespace hearsay::runtime::report
