// SPDX-License-Identifier: Apache-2.0
// Which examples an epoch trains on, and with what weight. `uniform`: each once, less often by its
// tier. `hard`: drawn with chances that rise with what the models do not know yet and with the time
// since the last visit; `rho`: with what is still to be learned of them. Drawing changes what the
// gradient means, so losses are weighted by (1 / (N P))^zeta, with zeta from 0 to 1 over the run
// and weights cut off (importance sampling; annealed as in Schaul et al. 2016, arXiv 1511.05952).
// Pure functions. Cost: O(rows) an epoch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/rng.hpp"
#include "runtime/examples/example_ledger.hpp"

namespace hearsay::runtime {

struct SamplingPlan {
  enum class Rule : std::uint8_t { uniform, hard, rho } rule = Rule::uniform;
  double gain = 1.0;   // exponent of 1 - confidence, or of the loss that is to be reduced
  double floor = 0.1;  // what an example that is known still counts
  double age = 0.25;   // weight of the time since the last visit
  double zeta_first = 0.0, zeta_last = 1.0;
  double clip = 10.0;  // most that a loss is weighted with
};

// u(x) of every row, up to a factor: 0 where none stands or it is in quarantine. Against label
// noise, none of a tier counts more than ten times the median.
std::vector<double> sampling_weights(const SamplingPlan& plan,
                                     std::span<const std::uint8_t> present,
                                     const ExampleLedger& ledger, std::uint64_t samples);

struct Epoch {
  std::vector<std::uint32_t> rows;  // in the order of training
  std::vector<float> weights;       // [row of the ledger] of its loss; empty: 1 each
};
// At least `least` rows, unless there are none at all. `progress`: share of the run behind it.
Epoch draw_epoch(const SamplingPlan& plan, std::span<const std::uint8_t> present,
                 const ExampleLedger& ledger, std::uint64_t samples, double progress,
                 std::size_t least, kernels::Rng& rng);

}  // namespace hearsay::runtime
