// SPDX-License-Identifier: Apache-2.0
// Which examples need no more looking at, and which had better not be learned. Retirement: what
// enough different models know goes to the reserve and then retires, and comes back when one of
// them forgets it (forgetting events: Toneva et al. 2019, arXiv 1812.05159). Quarantine: what
// several models find wrong, and always alike, is probably labelled wrongly (the hard and steady
// corner of Swayamdipta et al. 2020, arXiv 2009.10795). Pure functions of a ledger. Cost: O(rows).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/examples/example_ledger.hpp"

namespace hearsay::runtime {

struct RetirePlan {
  std::uint32_t reserve_models = 3;  // agree: to the reserve
  double retire_share = 0.5;         // of the pool agrees: retired
  double confident = 0.95;
  double forgotten = 0.7;
  double alike = 0.9;  // models whose looks correlate this much count as one
  double most = 0.7;   // of a class may be retired
  std::uint16_t least_looks = 3;
};

struct QuarantinePlan {
  double confidence = 0.1;  // below
  double spread = 0.1;      // deviation below
  std::uint32_t judges = 3;
};

// How often an example is trained on beside an active one.
inline constexpr std::array<double, kTiers> kTierShare{1.0, 0.2, 0.01, 0.0};

// A pool of a few peers has no three models: a quarter of it, two at least, is enough then.
std::uint32_t reserve_models(const RetirePlan& plan, std::uint32_t peers);
std::uint32_t retire_models(const RetirePlan& plan, std::uint32_t peers);

// After a round of looks. labels[row]; `present[row]` is 0 where no example of this peer stands.
void retire(const RetirePlan& plan, std::span<const std::uint8_t> labels,
            std::span<const std::uint8_t> present, ExampleLedger& ledger);
void quarantine(const QuarantinePlan& plan, std::span<const std::uint8_t> present,
                ExampleLedger& ledger);

struct TierCounts {
  std::array<std::uint64_t, kTiers> rows{};
  friend bool operator==(const TierCounts&, const TierCounts&) = default;
};
TierCounts count_tiers(std::span<const std::uint8_t> present, const ExampleLedger& ledger);

}  // namespace hearsay::runtime
