// SPDX-License-Identifier: Apache-2.0
// hearsay replay RUN of a simulation: its seed makes it again, so it is run once more and held
// against its log, line by line, and against its digest; or run under another merge rule.
#pragma once

#include <cstddef>

#include "runtime/app/run_header.hpp"
#include "runtime/config/command_line.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/replay/peer_replay.hpp"

namespace hearsay::runtime {

// Returns the exit code: 1 when something differs, 4 when lines of the log cannot be read.
int replay_simulation(const RunDir& run, const RunRecord& record, RunConfig config,
                      const ReplayPlan& plan, std::size_t threads, const Arguments& arguments);

}  // namespace hearsay::runtime
