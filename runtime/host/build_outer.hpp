// SPDX-License-Identifier: Apache-2.0
// The words of --outer, and those of --protocol diloco:
//   none                               merges move the weights
//   nesterov:lr=0.7,mu=0.9             after each block, of the peer's own step
//   noloco:a=0.7,gamma=0.7,mu=0.5      at each merge, of both partners' steps
//   delayed:lr=0.7,mu=0.9,n=4,c=0      at each merge; momentum at every n-th
//   diloco:lr=0.7,mu=0.9               nesterov of the mean of all
// All functions throw UsageError on what they do not know, and on what does not fit.
#pragma once

#include <optional>

#include "gossip/outer/outer_optimizer.hpp"
#include "merge/policy.hpp"
#include "runtime/config/run_config.hpp"

namespace hearsay::runtime {

std::optional<gossip::OuterSettings> outer_settings(const Spec& outer);  // nullopt: none
gossip::OuterSettings diloco_settings(const Spec& protocol);

// With what it would do nothing, or the wrong thing.
void refuse_outer_where_it_does_not_fit(const RunConfig& config, const merge::Policy& policy);

}  // namespace hearsay::runtime
