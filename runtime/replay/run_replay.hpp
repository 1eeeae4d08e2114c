// SPDX-License-Identifier: Apache-2.0
// A live run, made again in one process from its journals and its data set: every peer on a thread,
// in causal order, on as many cores as are given. Cost: the training of all peers, once.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/log/run_dir.hpp"
#include "runtime/replay/peer_replay.hpp"

namespace hearsay::runtime {

struct RecordedPeer {
  std::string name;
  std::vector<RecordedSession> sessions;  // in order of their incarnations
  std::vector<std::string> logs;          // first to last
};

struct RecordedRun {
  std::vector<RecordedPeer> peers;  // [peer]; without sessions where it has left none
  std::vector<std::string> damage;  // what could not be read at all
};
// Looks for journals and logs. Throws UsageError when the run has no journal.
RecordedRun find_recording(const RunDir& run, std::uint32_t peers);

struct RunReplay {
  std::vector<PeerReplayResult> peers;
  std::vector<std::string> damage;
  double wall_s = 0.0;

  std::uint64_t merges() const;
  std::uint64_t digests() const;
  bool is_equal() const;     // nothing that was compared differs
  bool is_complete() const;  // every journal was played to its end
};

// `progress` hears of peers that have come to their end, on their threads.
RunReplay replay_run(const RecordedRun& recorded, const RunConfig& config, const ReplayPlan& plan,
                     std::size_t threads,
                     const std::function<void(const PeerReplayResult&)>& progress);

}  // namespace hearsay::runtime
