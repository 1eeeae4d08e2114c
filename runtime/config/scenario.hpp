// SPDX-License-Identifier: Apache-2.0
// What the outside world does to a simulated pool, as texts of the options net, compute and chaos:
// from a JSON file, or drawn from a seed. Pure; the texts are taken apart where those of flags are.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/config/config_file.hpp"

namespace hearsay::runtime {

// Throws UsageError: not readable, not JSON, other keys than those three.
OptionTexts read_scenario(const std::string& path);

// A network, computers and up to a dozen faults: lost and broken frames, peers that are slow,
// frozen, cut off, killed, killed and started again, poisoned. The same for the same seed and pool
// size; all faults begin before the last third of the run, and those with an end are over by then.
OptionTexts random_scenario(std::uint64_t seed, std::uint64_t peers);

}  // namespace hearsay::runtime
