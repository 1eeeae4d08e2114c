// SPDX-License-Identifier: Apache-2.0
// A pool as one JSON object: what /peers.json serves and `hearsay watch` reads and prints.
//   {"run":"live","wall_s":1.5,"live":4,"min_peers":1,"target":null,"target_now":null,"peers":[
//     {"peer":"p00","pid":4711,"ended":"", and every field of its PeerStatus}, ...]}
// Pure; any lane; cost: 1 to 2 KB a peer.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "runtime/metrics/pool_snapshot.hpp"

namespace hearsay::runtime {

nlohmann::ordered_json peers_json(const PoolSnapshot& pool);
std::string text_of(
    const nlohmann::ordered_json& json);  // one line; bytes that are no UTF-8 as U+FFFD
// Empty for anything that is no such object; unknown keys are passed over.
std::optional<PoolSnapshot> read_peers_json(std::string_view text);

}  // namespace hearsay::runtime
