// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/tally.hpp"

#include "kernels/core/check.hpp"

namespace hearsay::runtime {

ExampleTally tally_of(const ExampleKeeper& keeper, std::span<const std::uint32_t> ids,
                      std::span<const std::uint8_t> wrong) {
  const ExampleLedger& ledger = keeper.ledger();
  const TierCounts tiers = keeper.tiers();
  const auto in = [&](Tier tier) { return tiers.rows[static_cast<std::size_t>(tier)]; };
  ExampleTally tally;
  tally.reserve = in(Tier::reserve);
  tally.retired = in(Tier::retired);
  tally.quarantined = in(Tier::quarantine);
  std::uint64_t right = 0;
  for (std::size_t row = 0; row < ledger.rows(); ++row)
    right += ledger.tier[row] == Tier::retired && keeper.present()[row] != 0 &&
             ledger.last_right[row] != 0;
  if (in(Tier::retired) > 0)
    tally.retired_acc = static_cast<double>(right) / static_cast<double>(in(Tier::retired));
  if (wrong.empty()) return tally;
  HS_CHECK(ids.size() == ledger.rows());
  std::uint64_t all = 0, found = 0;
  for (std::size_t row = 0; row < ledger.rows(); ++row) {
    if (keeper.present()[row] == 0 || wrong[ids[row]] == 0) continue;
    ++all;
    found += ledger.tier[row] == Tier::quarantine;
  }
  tally.wrong = all;
  tally.wrong_quarantined = found;
  return tally;
}

}  // namespace hearsay::runtime
