// SPDX-License-Identifier: Apache-2.0
// hearsay train --join: asks members of a pool for a place, for as long as that takes, and trains
// there. What is wrong so far is said once per change.
#pragma once

#include "runtime/app/run_header.hpp"
#include "runtime/config/config.hpp"

namespace hearsay::runtime {

int join_pool(const RunConfig& own, const Settings& settings);

RunFacts by_hand_facts();
// "p03" as the place that it names. Throws UsageError when it is none, or not below `peers` (0: any
// number).
kernels::PeerId place_of_name(const std::string& name, std::uint32_t peers);

}  // namespace hearsay::runtime
