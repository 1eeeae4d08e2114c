// SPDX-License-Identifier: Apache-2.0
// What peers share that nobody watches, because a person, srun or torchrun has started them: what
// they say, how they train, and that the last one to stop writes the pool's result.
#pragma once

#include <chrono>
#include <string>

#include "runtime/app/run_header.hpp"
#include "runtime/config/config.hpp"
#include "runtime/host/live_peer.hpp"
#include "runtime/host/peer_security.hpp"
#include "runtime/metrics/served_display.hpp"

namespace hearsay::runtime {

void say(const RunConfig& config, const std::string& line);  // on stderr, unless --quiet

// Says at every change, and once a minute, what is being waited for; a signal ends the waiting.
class WaitingWords {
 public:
  explicit WaitingWords(const RunConfig& config) : config_(config) {}
  bool tick(const std::string& line);

 private:
  const RunConfig& config_;
  std::string last_;
  std::chrono::steady_clock::time_point said_{};
};

// Throws UsageError for options that only a watcher can carry out.
void refuse_watched_options(const RunConfig& config, const std::string& instead);

// Trains to the end; the exit code. When the peer has been displaced, it has left the pool's files
// alone, and what follows is the caller's business. The last peer to stop writes the pool's result,
// and has the pool's verdict; whoever is dead, or frozen, is not waited for.
int train_unwatched(LivePeer& peer, const RunDir& run, kernels::PeerId self, const PeerPlace& place,
                    const RunFacts& facts, ServedPeer& metrics);

}  // namespace hearsay::runtime
