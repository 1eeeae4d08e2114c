// SPDX-License-Identifier: Apache-2.0
// All event logs of a run: one of a simulated pool, one a peer of a live one. A log that cannot be
// read does not hide the others. Lane: any. Cost: one pass; memory for all events.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/log/event_reader.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

struct RunLogs {
  struct One {
    std::string peer;  // "p03"; empty for the log of a whole simulated pool
    std::string path;
    EventLog log;
  };
  std::vector<One> logs;             // by name
  std::vector<One> earlier;          // of processes that were started again
  std::vector<std::string> damaged;  // a line each: file, offset, what is wrong

  bool virtual_clock() const;
  // Of all of them, one after the other; copies.
  static std::vector<LoggedEvent> events_of(const std::vector<One>& logs);
};

struct RunLogFile {
  std::string peer;  // as in RunLogs::One
  std::string path;
  bool is_earlier = false;  // of a process that was started again
};
// All logs that a run has; those of a peer in the order of its starts.
std::vector<RunLogFile> run_log_files(const RunDir& run);

// Throws UsageError when the run has no log at all.
RunLogs read_run_logs(const RunDir& run);
// One log by itself. Throws as read_events() does.
RunLogs read_single_log(const std::string& path);

}  // namespace hearsay::runtime
