// SPDX-License-Identifier: Apache-2.0
// What a checkpoint of one live peer holds, and going on from it: weights, moments, place in the
// data, clocks, random streams, and what it has spent so far. When the pool has another size, or
// the peer another shard, the data are divided anew: epochs done stay, mini-batches are counted in
// the new measure, and the pass over the data begins afresh. Lane: compute. Cost: a copy of weights
// and moments, and of the weights of the frames that wait.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/host/live_host.hpp"
#include "runtime/host/peer_files.hpp"
#include "runtime/host/peer_work.hpp"

namespace hearsay::runtime {

// Of all sessions of a peer.
struct PeerSpent {
  std::uint64_t payload_bytes = 0, wire_bytes = 0;
  std::optional<std::uint64_t> example_bytes;
  double wall_s = 0.0, train_s = 0.0, cpu_s = 0.0, io_cpu_s = 0.0;

  void add_to(PeerResult& result) const;  // all but the processor time
  static PeerSpent of(const PeerResult& result);
  void state(gossip::Archive& a) {
    a("payload_bytes", payload_bytes)("wire_bytes", wire_bytes)("wall_s", wall_s);
    if (example_bytes || a.has("example_bytes")) a("example_bytes", example_bytes);
    a("train_s", train_s)("cpu_s", cpu_s)("io_cpu_s", io_cpu_s);
  }
};

// A peer between two mini-batches; owns all values. `so_far` is its result if it ended here, with
// what earlier sessions have spent. Weights from before an end game are kept beside the others.
Checkpoint peer_checkpoint(const RunDir& run, const RunConfig& config, const std::string& version,
                           const PeerResult& so_far, PeerWork& work, LiveHost& host,
                           std::span<const float> before_end_game);

// The same, as read back, kept in memory: what take_up() goes on from.
LoadedCheckpoint state_in_memory(const RunConfig& config, PeerWork& work);

// The newest good one of the peer. Nothing when it has none; throws DamagedFile when all are
// damaged. `damaged` hears of those that are.
std::optional<LoadedCheckpoint> newest_peer_checkpoint(
    const RunDir& run, const std::string& peer,
    const std::function<void(const std::string&)>& damaged);

// Puts everything back but what is the host's. Throws DamagedFile when it is another peer's or
// another model's.
PeerSpent take_up(LoadedCheckpoint& from, const RunConfig& config, PeerWork& work);
void take_up_host(LoadedCheckpoint& from, LiveHost& host);

}  // namespace hearsay::runtime
