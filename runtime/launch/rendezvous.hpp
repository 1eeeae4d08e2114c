// SPDX-License-Identifier: Apache-2.0
// How peers that a launcher has told no more than rank and size (srun, torchrun) find each other:
// by files in the run directory, which all of them see. Rank 0 has made run.json; every peer writes
// peers/<name>/endpoint.json; whoever first sees as many of them as the pool begins with writes
// started.json, by a link that fails where there is one. Everybody reads that: who is named in it
// begins the pool, whoever is not comes late. A process that starts again is a later incarnation.
// A launcher that starts the whole job again (an attempt) gets a new beginning in the same run,
// unless somebody of an earlier one is still there to be joined.
// Lane: the caller's thread, before training. Cost: a few small files a peer, looked at ten times a
// second while it waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/peer_place.hpp"
#include "runtime/launch/endpoint_file.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

struct RendezvousPlan {
  kernels::PeerId self;
  std::uint32_t peers = 1, start_with = 1;
  std::string session;                  // the job's name: files of other jobs do not count
  std::uint64_t least_incarnation = 0;  // of this peer, in a run that is resumed
  std::uint64_t attempt = 0;            // how often the launcher has started it again
  // What is waited for; false ends the waiting.
  std::function<bool(const std::string& line)> tick;
  // Whether somebody listens there.
  std::function<bool(const Endpoint&)> is_there;
};

// Tells the others `address`, and waits until the pool begins or is found to have begun. Empty when
// `tick` gave up.
std::optional<PeerPlace> meet_by_files(const RunDir& run, const RendezvousPlan& plan,
                                       const Endpoint& address);

// The files behind it, for tests. "started.json", unless another session has that: then a name made
// from the own one.
std::string started_json(const RunDir& run, const std::string& session);
// Makes the file with those peers in it; false when somebody else was first.
bool write_started(const std::string& path, const std::string& session,
                   const std::vector<BookEntry>& peers);
// Empty when there is none, or that of another session.
std::optional<std::vector<BookEntry>> read_started(const std::string& path,
                                                   const std::string& session);

}  // namespace hearsay::runtime
