// SPDX-License-Identifier: Apache-2.0
// What became of a peer's examples, for its result. Nothing of it flows back into training.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/examples/example_keeper.hpp"

namespace hearsay::runtime {

struct ExampleTally {
  std::optional<std::uint64_t> reserve, retired, quarantined;
  std::optional<double> retired_acc;  // of the retired ones: right when last looked at
  // Where --split has made labels wrong: how many of the peer's are, and of those in quarantine.
  std::optional<std::uint64_t> wrong, wrong_quarantined;
};

// ids[row]; wrong[id], empty: all labels are right as far as is known.
ExampleTally tally_of(const ExampleKeeper& keeper, std::span<const std::uint32_t> ids,
                      std::span<const std::uint8_t> wrong);

}  // namespace hearsay::runtime
