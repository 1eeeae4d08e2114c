// SPDX-License-Identifier: Apache-2.0
// A PeerStatus as JSON, on its way from a peer to its watcher and from the metrics endpoint to
// `hearsay watch`. Invariant: what is written reads back the same, but for a loss that is not
// finite, which becomes PeerStatus::kNoLoss. Pure; any lane; cost: about 1.5 KB of text.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "runtime/launch/peer_status.hpp"

namespace hearsay::runtime {

nlohmann::ordered_json status_json(const PeerStatus& status);
// Empty when a field is missing or impossible; unknown fields are passed over.
std::optional<PeerStatus> read_status(const nlohmann::ordered_json& object);

}  // namespace hearsay::runtime
