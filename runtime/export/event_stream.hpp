// SPDX-License-Identifier: Apache-2.0
// All events of a run, line by line, log after log: what every table is made from. Damage ends its
// log and is told, it does not end the export. Lane: any. Cost: one pass; memory for a line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/log/event_reader.hpp"
#include "runtime/log/run_logs.hpp"

namespace hearsay::runtime {

struct LogOfRun {
  std::string name;  // "peers/p03/events.jsonl"
  std::size_t index = 0;
  nlohmann::ordered_json header;
};

// Returns what is damaged or torn, a line each. Throws UsageError when the run has no log at all.
std::vector<std::string> for_each_event(
    const RunDir& run, const std::function<void(const LogOfRun&, LoggedEvent&&)>& visit);

// A number that may have been written as "nan", "inf" or "-inf"; NaN when it is none.
double number_of(const LoggedEvent& event, const char* key);
// At least 0; 0 when it is none.
std::uint64_t count_of(const LoggedEvent& event, const char* key);
std::string text_of(const LoggedEvent& event, const char* key);

// Text that is UTF-8, whatever it was.
std::string dump_text(const nlohmann::ordered_json& json);

}  // namespace hearsay::runtime
