// SPDX-License-Identifier: Apache-2.0
// All event logs of a run for a report: whole ones by runtime/log, and of damaged ones the lines
// that can be read, so that one bad sector does not hide a peer. Says what was left out. Lane: any.
// Cost: one pass; memory for all events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/log/event_reader.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime::report {

struct OneLog {
  std::string path;
  std::string owner;  // "p03"; empty for the log of a whole simulated pool
  bool is_torn = false;
  nlohmann::ordered_json header;  // null when the header line could not be read
  std::vector<LoggedEvent> events;
  std::int64_t offset_ns = 0;  // from this log's clock to the pool's (clocks.hpp)
};

struct LogSet {
  std::vector<OneLog> logs;          // by owner, earlier starts of a peer before later ones
  std::vector<std::string> missing;  // sentences
};

// Throws UsageError when the run has no log at all, DamagedFile when none has a readable event.
LogSet read_log_set(const RunDir& run);

}  // namespace hearsay::runtime::report
