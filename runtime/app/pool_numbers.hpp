// SPDX-License-Identifier: Apache-2.0
// The numbers of a live pool out of those of its peers. Lost peers count with what they did, but
// not with what they measured. Pure; any lane; cost: one pass over the peers.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/app/progress_text.hpp"
#include "runtime/launch/pool_display.hpp"

namespace hearsay::runtime {

inline bool has_trained(const PeerStatus& status) { return status.samples > 0; }

// The watcher's own count of live peers wins.
PoolNumbers numbers_of(std::span<const PeerView> peers, const std::optional<PoolNow>& now);
// "target 0.880, now 0.853"; empty when there is none.
std::string target_text(const std::optional<PoolNow>& now);
// Until the slowest live peer has done its budget, by its own speed so far; negative when unknown
// or nothing is left to do.
double seconds_left(std::span<const PeerView> peers);

}  // namespace hearsay::runtime
