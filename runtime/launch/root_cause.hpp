// SPDX-License-Identifier: Apache-2.0
// The table that ends a run in which peers died: who first, where, how, what it did last, where its
// log is. The first row is usually the cause, the others its consequences.
#pragma once

#include <string>
#include <vector>

#include "runtime/launch/pool_watch.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

// "block.finished at 12.3 s", of a log's last whole line; a torn one does not count.
std::string last_event(const std::string& path);

// Empty when nobody died. Reads the last whole line of each dead peer's log.
std::string root_cause_table(const RunDir& run, const std::vector<PeerDeath>& deaths);

}  // namespace hearsay::runtime
