// SPDX-License-Identifier: Apache-2.0
// The beginning and the end that all live pools share, whoever started them: the run directory
// with run.json, and from the peers' files to result.json, exported model, closing block and exit
// code.
#pragma once

#include <string>

#include "runtime/app/run_header.hpp"
#include "runtime/launch/collect.hpp"

namespace hearsay::runtime {

// Makes the directory (--run, or a name of its own) and run.json in it. Throws UsageError, and then
// leaves nothing behind.
RunDir begin_run(const Settings& settings, const RunConfig& config, const RunFacts& facts);

// Takes the directory away again, with `latest` if it points there: nothing was trained.
void discard_run(const RunDir& run);

// Returns the exit code of the pool's verdict. Prints the closing block, or with --json the result,
// on stdout, and one line on stderr when the verdict is not ok.
int finish_pool(const RunDir& run, const RunConfig& config, const PoolEnding& ending);

}  // namespace hearsay::runtime
