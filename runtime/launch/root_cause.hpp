// SPDX-License-Identifier: Apache-2.0
// The table that ends a run in which peers died: who first, where, how, what it did last, where its
// log is. The first row is usually the cause, the others its consequences.
#pragma once

#include <string>
#include <vector>

#include "runtime/launch/pool_watch.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

// Empty when nobody died. Reads the last whole line of each dead peer's log.
std::string root_cause_table(const RunDir& run, const std::vector<PeerDeath>& deaths);

}  // namespace hearsay::runtime
