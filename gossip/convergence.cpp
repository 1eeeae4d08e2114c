// SPDX-License-Identifier: Apache-2.0
#include "gossip/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace hearsay::gossip {
namespace {

void push(std::deque<double>& series, double value, std::size_t window) {
  series.push_back(value);
  if (series.size() > window) series.pop_front();
}

// |difference of the half means| < 2 standard errors of that difference.
bool halves_agree(std::span<const double> values) {
  const std::size_t half = values.size() / 2;
  const auto moments = [](std::span<const double> part) {
    const double n = static_cast<double>(part.size());
    const double mean = std::accumulate(part.begin(), part.end(), 0.0) / n;
    double variance = 0.0;
    for (const double v : part) variance += (v - mean) * (v - mean);
    return std::pair{mean, variance / std::max(1.0, n - 1.0) / n};
  };
  const auto [first, first_error2] = moments(values.first(half));
  const auto [last, last_error2] = moments(values.last(half));
  return std::fabs(first - last) <= 2.0 * std::sqrt(first_error2 + last_error2);
}

bool is_flat(const std::deque<double>& series, double slope_limit) {
  const std::vector<double> values(series.begin(), series.end());
  const double slope = theil_sen_slope(values);
  if (std::fabs(slope) <= slope_limit) return true;
  // Too noisy to tell apart from flat: the fit's own error covers the excess, and the halves agree.
  const double error = least_squares(values).slope_error;
  return std::fabs(slope) - 2.0 * error <= slope_limit && halves_agree(values);
}

}  // namespace

double theil_sen_slope(std::span<const double> values) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
    }
  }
  if (slopes.empty()) return 0.0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  if (slopes.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(slopes.begin(), middle));
}

LineFit least_squares(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  if (n < 3) return {};
  const double centre = (n - 1.0) / 2.0;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sxx = 0.0, sxy = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double dx = static_cast<double>(i) - centre;
    sxx += dx * dx;
    sxy += dx * (values[i] - mean);
  }
  const double slope = sxy / sxx;
  double residual2 = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double r = values[i] - mean - slope * (static_cast<double>(i) - centre);
    residual2 += r * r;
  }
  return {slope, std::sqrt(residual2 / (n - 2.0) / sxx)};
}

void ConvergenceMonitor::add_merge(double update_norm, double relative_displacement,
                                   double validation_loss) {
  constexpr double kTiny = 1e-12;  // equal models: the log of an exact zero would poison the window
  push(log_u_, std::log(std::max(update_norm, kTiny)), options_.window);
  push(log_r_, std::log(std::max(relative_displacement, kTiny)), options_.window);
  push(loss_, validation_loss, options_.window);
}

bool ConvergenceMonitor::converged() const {
  if (loss_.size() < options_.window) return false;
  if (!is_flat(log_u_, options_.slope_limit) || !is_flat(log_r_, options_.slope_limit))
    return false;
  const std::vector<double> loss(loss_.begin(), loss_.end());
  const LineFit fit = least_squares(loss);
  return fit.slope >= -fit.slope_error;
}

}  // namespace hearsay::gossip
