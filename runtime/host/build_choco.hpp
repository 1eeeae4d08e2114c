// SPDX-License-Identifier: Apache-2.0
// --protocol choco:gamma=0.1: its number (without one, what the codec bears), and what does not go
// with it. All functions throw
// UsageError.
#pragma once

#include "gossip/topology/topology.hpp"
#include "runtime/config/run_config.hpp"

namespace hearsay::runtime {

double choco_gamma(const RunConfig& config, const gossip::Topology& topology);

}  // namespace hearsay::runtime
