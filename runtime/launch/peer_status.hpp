// SPDX-License-Identifier: Apache-2.0
// A peer's newest numbers, as it tells them to whoever watches it: for progress displays, targets
// and faults that depend on progress. Plain data. Cost: about 300 bytes, at most four times a
// second.
#pragma once

#include <cstdint>
#include <string>

namespace hearsay::runtime {

struct PeerStatus {
  enum class State {
    starting,   // loading data, not yet listening
    training,   // in a mini-batch
    waiting,    // for a partner (rendezvous, or a last answer)
    lingering,  // has finished, answers until the others have too
    ended,      // wrote its result and said goodbye
    lost        // only the watcher says so
  };
  State state = State::starting;
  double clock_s = 0.0;   // run clock: seconds since the peer's first mini-batch
  double progress = 0.0;  // share of its epoch budget, 0 .. 1
  double epochs = 0.0;    // local epochs trained
  std::uint64_t samples = 0;
  double samples_per_s = 0.0;  // since the status before
  std::uint64_t merges = 0;    // exchanges that it started
  std::uint64_t merges_applied = 0;
  std::uint64_t merges_refused = 0;
  std::uint64_t payload_bytes = 0, wire_bytes = 0;  // sent
  double loss = 0.0;                                // of mini-batches, smoothed
  double accuracy = -1.0;                           // of the newest evaluation; -1 before the first
  double evaluated_epochs = 0.0;                    // own epochs at that evaluation
  double evaluated_s = 0.0;                         // run clock when it began
  std::uint64_t evaluation_round = 0;  // newest order to evaluate that this answers; 0 = none yet
  std::string partner;                              // of the newest merge; empty before the first
  double alpha = 0.0;                               // of that merge
};

}  // namespace hearsay::runtime
