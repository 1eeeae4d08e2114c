// SPDX-License-Identifier: Apache-2.0
// Reads events.jsonl back. A log whose writer was killed may end in a torn line: that is reported,
// not an error; damage anywhere else is. Unknown keys and events are kept as they are. Lane: any.
// Cost: one pass; memory for all events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct LoggedEvent {
  std::string ev;                 // "merge.applied"
  std::int64_t t_ns = 0;          // run clock
  std::string peer;               // "p03"
  std::uint64_t n = 0;            // line number of this peer, from 0
  nlohmann::ordered_json fields;  // every other key, in file order; an object
};

struct EventLog {
  nlohmann::ordered_json header;  // the run.started line, whole
  std::vector<LoggedEvent> events;
  bool truncated = false;              // the last line is torn
  std::size_t truncated_at_bytes = 0;  // where the torn line begins

  bool virtual_clock() const;  // what the header says
};

// A log line by line, for readers that keep no events: `header` once, then `event` for each.
struct EventScan {
  std::function<void(const nlohmann::ordered_json&)> header;  // may be empty
  std::function<void(LoggedEvent&&)> event;
};
// Throws as read_events() does, after the lines before the damage were handed over. The result
// says whether the end is torn; it holds header and no events. Memory: one line.
EventLog scan_events(const std::string& path, const EventScan& scan);

// Throws DamagedFile (file and byte offset) for a missing or malformed header or a malformed whole
// line, UsageError when the file cannot be read or was written with a newer schema.
EventLog read_events(const std::string& path);

}  // namespace hearsay::runtime
