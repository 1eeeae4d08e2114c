// SPDX-License-Identifier: Apache-2.0
// What every peer did when, from the blocks and lives of a run: spans without overlap, in time
// order, a peer after the other. Invariant: a process' spans cover it from its first event to its
// last. Pure; any lane. Cost: one pass over the blocks, a sort.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

enum class Activity {
  training,
  slow,        // training, each mini-batch more than kSlowFactor times the pool's median
  unfinished,  // training or waiting after the last block that ended, in a process that said no
               // goodbye
  waiting,     // between blocks, before the first and where nothing was logged
  serving,     // trained to the end, answering others
};
inline constexpr double kSlowFactor = 1.5;

struct Span {
  PeerIndex peer = 0;
  double begin_s = 0.0, end_s = 0.0;
  Activity activity = Activity::training;
  std::size_t blocks = 0;
  double step_s = 0.0;  // of the slowest block in it
  std::string line;     // of its last block, or of the last event
};

// At most `most` spans of training a peer: neighbours are joined then, see the returned stride.
struct Activities {
  std::vector<Span> spans;
  std::size_t blocks_a_span = 1;
  double median_step_s = 0.0;
};
Activities activities_of(const RunFacts& facts, std::size_t most_a_peer);

std::string name_of(Activity activity);

}  // namespace hearsay::runtime::report
