// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/tiers.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

std::uint32_t reserve_models(const RetirePlan& plan, std::uint32_t peers) {
  return std::max(2u, std::min(plan.reserve_models, (peers + 3) / 4));
}

std::uint32_t retire_models(const RetirePlan& plan, std::uint32_t peers) {
  const auto share = static_cast<std::uint32_t>(std::ceil(plan.retire_share * peers));
  return std::max(reserve_models(plan, peers), share);
}

void retire(const RetirePlan& plan, std::span<const std::uint8_t> labels,
            std::span<const std::uint8_t> present, ExampleLedger& ledger) {
  HS_CHECK(labels.size() == ledger.rows() && present.size() == ledger.rows());
  const std::uint32_t to_reserve = reserve_models(plan, ledger.peers());
  const std::uint32_t to_retire = retire_models(plan, ledger.peers());
  std::array<std::uint64_t, 256> of_class{}, retired{};
  for (std::size_t row = 0; row < ledger.rows(); ++row) {
    if (present[row] == 0) continue;
    ++of_class[labels[row]];
    retired[labels[row]] += ledger.tier[row] == Tier::retired;
  }
  for (std::size_t row = 0; row < ledger.rows(); ++row) {
    Tier& tier = ledger.tier[row];
    if (present[row] == 0 || tier == Tier::quarantine || ledger.evals[row] == 0) continue;
    const std::uint8_t label = labels[row];
    if (tier != Tier::active && ledger.since_forget[row] == 0) {
      retired[label] -= tier == Tier::retired;
      tier = Tier::active;
      continue;
    }
    const std::uint32_t agreed = ledger.agreed[row].count(ledger.peers());
    const bool may_retire =
        static_cast<double>(retired[label] + 1) <= plan.most * static_cast<double>(of_class[label]);
    if (tier == Tier::active && agreed >= to_reserve && ledger.evals[row] >= plan.least_looks) {
      tier = Tier::reserve;
    } else if (tier == Tier::reserve && agreed >= to_retire && may_retire &&
               ledger.since_forget[row] >= 3) {
      tier = Tier::retired;
      ++retired[label];
    }
  }
}

// Who is there for good reason may leave: a model that finds the label right takes the example
// back.
void quarantine(const QuarantinePlan& plan, std::span<const std::uint8_t> present,
                ExampleLedger& ledger) {
  HS_CHECK(present.size() == ledger.rows());
  for (std::size_t row = 0; row < ledger.rows(); ++row) {
    if (present[row] == 0) continue;
    const bool enough =
        ledger.judges[row].count(ledger.peers()) >= std::min(plan.judges, ledger.peers()) &&
        ledger.evals[row] >= plan.judges;
    const bool hard = ledger.confidence[row] < static_cast<float>(plan.confidence);
    const bool steady = ledger.variability(row) < static_cast<float>(plan.spread);
    if (enough && hard && steady)
      ledger.tier[row] = Tier::quarantine;
    else if (ledger.tier[row] == Tier::quarantine && !hard)
      ledger.tier[row] = Tier::active;
  }
}

TierCounts count_tiers(std::span<const std::uint8_t> present, const ExampleLedger& ledger) {
  TierCounts counts;
  for (std::size_t row = 0; row < ledger.rows(); ++row)
    counts.rows[static_cast<std::size_t>(ledger.tier[row])] += present[row] != 0;
  return counts;
}

}  // namespace hearsay::runtime
