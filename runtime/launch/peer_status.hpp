// SPDX-License-Identifier: Apache-2.0
// A peer's newest numbers, as it tells them to whoever watches it: for progress displays, metrics,
// targets and faults that depend on progress. Invariant: of one size however long the run. Plain
// data. Cost: 1 to 2 KB as text, at most four times a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/metrics/histogram.hpp"

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
  struct Merge {
    std::string from;
    double alpha = 0.0;
    double at_s = 0.0;  // run clock
  };
  static constexpr std::size_t kNewestMerges = 16;
  static constexpr double kNoLoss = 1e30;  // stands for one that is not finite

  State state = State::starting;
  double clock_s = 0.0;   // run clock: seconds since the peer's first mini-batch
  double progress = 0.0;  // share of its epoch budget, 0 .. 1
  double epochs = 0.0;    // local epochs trained
  std::uint64_t samples = 0;
  double samples_per_s = 0.0;  // since the status before
  std::uint64_t merges = 0;    // exchanges that it started
  std::uint64_t merges_applied = 0;
  std::uint64_t merges_refused = 0;
  std::uint64_t merges_skipped = 0;
  std::uint64_t payload_bytes = 0, wire_bytes = 0;  // sent
  std::uint64_t payload_bytes_received = 0, wire_bytes_received = 0;
  double loss = 0.0;                   // of mini-batches, smoothed
  double accuracy = -1.0;              // of the newest evaluation; -1 before the first
  double test_loss = -1.0;             // the same
  double evaluated_epochs = 0.0;       // own epochs at that evaluation
  double evaluated_s = 0.0;            // run clock when it began
  std::uint64_t evaluation_round = 0;  // newest order to evaluate that this answers; 0 = none yet
  std::string partner;                 // of the newest merge; empty before the first
  double alpha = 0.0;                  // of that merge
  std::uint32_t inbox_depth = 0;       // models that wait for the next mini-batch boundary
  std::uint32_t partners_alive = 0;    // that it believes it can reach
  // Root mean square of recent merges' relative displacement, over sqrt(2); -1 before the first.
  double consensus_distance = -1.0;
  StepSeconds step_seconds;
  MergeAges merge_age_samples;
  std::vector<Merge> newest_merges;  // applied, oldest first, at most kNewestMerges; the last one
                                     // is number merges_applied
};

}  // namespace hearsay::runtime
