// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearsay::runtime {

Look look_at(std::span<const float> logits, std::uint8_t label, double temperature) {
  const double inverse = 1.0 / temperature;
  double other = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < logits.size(); ++c) {
    if (c != label) other = std::max(other, static_cast<double>(logits[c]));
  }
  const double own = logits[label], peak = std::max(own, other);
  double total = 0.0;
  for (const float logit : logits) total += std::exp((static_cast<double>(logit) - peak) * inverse);
  const double loss = std::log(total) - (own - peak) * inverse;
  const double confidence = std::exp(-loss);
  const double rival = std::exp((other - peak) * inverse) / total;
  return {static_cast<float>(confidence), static_cast<float>(confidence - rival),
          static_cast<float>(loss)};
}

namespace {

double mean_loss(std::span<const float> logits, std::span<const std::uint8_t> labels,
                 double temperature) {
  const std::size_t classes = logits.size() / labels.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    sum += look_at(logits.subspan(i * classes, classes), labels[i], temperature).loss;
  return sum / static_cast<double>(labels.size());
}

}  // namespace

// The loss has one minimum over log T, so a golden section finds it (Kiefer 1953): 20 steps leave
// 0.02 % of the range.
double best_temperature(std::span<const float> logits, std::span<const std::uint8_t> labels) {
  if (labels.empty()) return 1.0;
  constexpr double kShare = 0.6180339887498949;
  constexpr int kSteps = 20;
  double low = std::log(kLeastTemperature), high = std::log(kMostTemperature);
  double a = high - kShare * (high - low), b = low + kShare * (high - low);
  double at_a = mean_loss(logits, labels, std::exp(a)),
         at_b = mean_loss(logits, labels, std::exp(b));
  for (int step = 0; step < kSteps; ++step) {
    if (at_a <= at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kShare * (high - low);
      at_a = mean_loss(logits, labels, std::exp(a));
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kShare * (high - low);
      at_b = mean_loss(logits, labels, std::exp(b));
    }
  }
  return std::exp(0.5 * (low + high));
}

}  // namespace hearsay::runtime
