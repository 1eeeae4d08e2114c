// SPDX-License-Identifier: Apache-2.0
// The words of --share and --cluster:
//   --share    off
//              sketch:1024,memory=0.97   values of a sketch (2^10 .. 2^16); share of the directions
//                                       before in the smoothed one, 1: of the run so far
//   --cluster  off
//              agglo:average            single, complete, average, ward: found from sketches
//                every=2                own merges between two looks
//                cut=silhouette         if it is above noise; count=N, height=H, gap
//              given:groups=2           as many equal groups of neighbours, as +rotate makes them
//              e=0.05                   both: share of the merges that go outside
//              schedule=never           both: e all the time; early: from e to even; warm-up: back
// All functions throw UsageError on what they do not know. Cost: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gossip/communities/steering.hpp"
#include "runtime/config/run_config.hpp"

namespace hearsay::runtime {

// Null: all neighbours are alike.
std::shared_ptr<const gossip::CommunityPlan> build_communities(const RunConfig& config);

}  // namespace hearsay::runtime
