// SPDX-License-Identifier: Apache-2.0
// What a model's outputs say of single examples, and the one temperature by which a model's
// probabilities are made comparable with those of others (Guo et al. 2017, arXiv 1706.04599): the
// one that makes held-out examples most likely. Pure functions. Cost: one exponential a class and
// example; a temperature about 40 times that over the held-out examples.
#pragma once

#include <cstdint>
#include <span>

namespace hearsay::runtime {

// One example under one model.
struct Look {
  float confidence = 0.0f;  // probability of the label
  float margin = 0.0f;      // that, minus the largest of the others; above 0: right
  float loss = 0.0f;        // -log of the probability
  bool right() const { return margin > 0.0f; }
};

// logits[classes]; probabilities are softmax(logits / temperature).
Look look_at(std::span<const float> logits, std::uint8_t label, double temperature);

inline constexpr double kLeastTemperature = 0.25, kMostTemperature = 8.0;
// logits[labels.size()][classes]. 1 where there are no examples.
double best_temperature(std::span<const float> logits, std::span<const std::uint8_t> labels);

}  // namespace hearsay::runtime
