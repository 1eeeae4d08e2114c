// SPDX-License-Identifier: Apache-2.0
// --tune: from its text to what a pool learns about its own settings. Throws UsageError on words it
// does not know, and where it has no effect.
#pragma once

#include <optional>

#include "gossip/tuning/tuner.hpp"
#include "runtime/config/run_config.hpp"

namespace hearsay::runtime {

std::optional<gossip::TunePlan> build_tune(const RunConfig& config);  // none: off

}  // namespace hearsay::runtime
