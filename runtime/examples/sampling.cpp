// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/core/check.hpp"
#include "runtime/examples/alias_table.hpp"
#include "runtime/examples/tiers.hpp"

namespace hearsay::runtime {
namespace {

constexpr double kMostTimesMedian = 10.0;

double difficulty(const SamplingPlan& plan, const ExampleLedger& ledger, std::size_t row) {
  if (plan.rule == SamplingPlan::Rule::uniform) return 1.0;
  if (plan.rule == SamplingPlan::Rule::rho) {
    const double to_learn = std::max(0.0f, ledger.reducible_loss(row));
    return plan.floor + std::pow(to_learn, plan.gain);
  }
  // Before the first validation, what training has seen has to do.
  const double known =
      ledger.evals[row] > 0 ? ledger.confidence[row] : std::max(0.0f, ledger.train_confidence[row]);
  return plan.floor + std::pow(std::max(0.0, 1.0 - known), plan.gain);
}

void guard_against_noise(std::vector<double>& weights) {
  std::vector<double> there;
  for (const double weight : weights) {
    if (weight > 0.0) there.push_back(weight);
  }
  if (there.empty()) return;
  const auto middle = there.begin() + static_cast<std::ptrdiff_t>(there.size() / 2);
  std::nth_element(there.begin(), middle, there.end());
  const double most = kMostTimesMedian * *middle;
  for (double& weight : weights) weight = std::min(weight, most);
}

}  // namespace

std::vector<double> sampling_weights(const SamplingPlan& plan,
                                     std::span<const std::uint8_t> present,
                                     const ExampleLedger& ledger, std::uint64_t samples) {
  HS_CHECK(present.size() == ledger.rows());
  const double there = static_cast<double>(std::count(present.begin(), present.end(), 1));
  std::vector<double> weights(ledger.rows(), 0.0);
  for (std::size_t row = 0; row < ledger.rows(); ++row) {
    if (present[row] == 0) continue;
    const double epochs =
        samples > ledger.last_seen[row]
            ? static_cast<double>(samples - ledger.last_seen[row]) / std::max(1.0, there)
            : 0.0;
    const double age =
        plan.rule == SamplingPlan::Rule::uniform ? 1.0 : 1.0 + plan.age * std::log1p(epochs);
    if (ledger.tier[row] != Tier::quarantine) weights[row] = difficulty(plan, ledger, row) * age;
  }
  if (plan.rule != SamplingPlan::Rule::uniform) guard_against_noise(weights);
  for (std::size_t row = 0; row < ledger.rows(); ++row)
    weights[row] *= kTierShare[static_cast<std::size_t>(ledger.tier[row])];
  return weights;
}

namespace {

// Each row once, or by chance, as its tier says.
Epoch by_tier(std::span<const std::uint8_t> present, const ExampleLedger& ledger, std::size_t least,
              kernels::Rng& rng) {
  Epoch epoch;
  std::vector<std::uint32_t> rest;
  for (std::uint32_t row = 0; row < ledger.rows(); ++row) {
    if (present[row] == 0) continue;
    const double share = kTierShare[static_cast<std::size_t>(ledger.tier[row])];
    const bool drawn = share >= 1.0 || (share > 0.0 && rng.uniform() < share);
    (drawn ? epoch.rows : rest).push_back(row);
  }
  // An epoch that is too short takes the others in turn: it has a mini-batch a step to fill.
  rng.shuffle(rest);
  for (const std::uint32_t row : rest) {
    if (epoch.rows.size() >= least) break;
    epoch.rows.push_back(row);
  }
  rng.shuffle(epoch.rows);
  return epoch;
}

}  // namespace

Epoch draw_epoch(const SamplingPlan& plan, std::span<const std::uint8_t> present,
                 const ExampleLedger& ledger, std::uint64_t samples, double progress,
                 std::size_t least, kernels::Rng& rng) {
  if (plan.rule == SamplingPlan::Rule::uniform) return by_tier(present, ledger, least, rng);
  const std::vector<double> weights = sampling_weights(plan, present, ledger, samples);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0.0)) return by_tier(present, ledger, least, rng);  // all are in quarantine
  double draws = 0.0;                                             // as many as by tiers alone
  for (std::size_t row = 0; row < ledger.rows(); ++row)
    draws += present[row] * kTierShare[static_cast<std::size_t>(ledger.tier[row])];
  const auto count = std::max(least, static_cast<std::size_t>(std::lround(draws)));
  const AliasTable table(weights);
  Epoch epoch;
  epoch.rows.reserve(count);
  for (std::size_t i = 0; i < count; ++i) epoch.rows.push_back(table.draw(rng));
  const double zeta = plan.zeta_first + (plan.zeta_last - plan.zeta_first) * progress;
  if (zeta == 0.0) return epoch;
  epoch.weights.assign(ledger.rows(), 1.0f);
  for (std::size_t row = 0; row < ledger.rows(); ++row) {
    if (weights[row] <= 0.0) continue;
    const double chance = weights[row] / sum;
    const double weight = std::pow(1.0 / (draws * chance), zeta);
    epoch.weights[row] = static_cast<float>(std::min(plan.clip, weight));
  }
  return epoch;
}

}  // namespace hearsay::runtime
