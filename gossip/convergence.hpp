// SPDX-License-Identifier: Apache-2.0
// Has this peer's model stopped improving? Judged over a window of the last merges on
// learning-rate-free quantities:
//   u  block displacement / sum of learning rates       r  || w_in - w || / || w ||       v
//   validation loss
// Converged when, over the window, (1) the Theil-Sen slopes of log u and log r lie within
// +-slope_limit per merge or are not distinguishable from it, (2) first and last half of log u and
// log r agree within 2 standard errors or by slope, and (3) the validation loss does not fall by
// more than its standard error. Pure arithmetic on scalars.
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "gossip/archive.hpp"

namespace hearsay::gossip {

// Median of the slopes between all pairs of (index, value): robust against single outliers. 0 for
// fewer than two.
double theil_sen_slope(std::span<const double> values);
struct LineFit {
  double slope = 0.0;
  double slope_error = 0.0;  // standard error of the slope
};
LineFit least_squares(std::span<const double> values);  // over 0, 1, 2, ...

class ConvergenceMonitor {
 public:
  struct Options {
    std::size_t window = 16;    // merges: about 8 that the peer started and 8 that it answered
    double slope_limit = 0.01;  // per merge, of log u and log r
  };
  ConvergenceMonitor() = default;
  explicit ConvergenceMonitor(const Options& options) : options_(options) {}

  void add_merge(double update_norm, double relative_displacement, double validation_loss);
  bool converged() const;
  void state(Archive& a) { a("log_u", log_u_)("log_r", log_r_)("loss", loss_); }

 private:
  Options options_;
  std::deque<double> log_u_, log_r_, loss_;
};

}  // namespace hearsay::gossip
