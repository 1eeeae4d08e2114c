// SPDX-License-Identifier: Apache-2.0
// Reads a run directory into RunFacts, whatever is there: a run at work, one whose peers were
// killed, one with damaged files. Lane: any; reads only. Cost: one pass over the logs; memory for
// all events meanwhile.
#pragma once

#include <string>
#include <vector>

#include "runtime/report/log_set.hpp"
#include "runtime/report/run_facts.hpp"

namespace hearsay::runtime::report {

// Throws UsageError when there is no such run or no log in it, DamagedFile when nothing of it can
// be read.
RunFacts load_run(const std::string& path);

// The part that comes from the logs; `facts` has what run.json and result.json say. Pure.
void add_events(std::vector<OneLog> logs, RunFacts& facts);

}  // namespace hearsay::runtime::report
