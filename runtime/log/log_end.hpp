// SPDX-License-Identifier: Apache-2.0
// Where the log of one peer ends, for whoever goes on with it: its last whole line. What a killed
// writer, or a machine that lost power, left behind that line is not counted. Lane: any. Cost:
// reads the last pieces of the file only.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/log/event_writer.hpp"

namespace hearsay::runtime {

struct LogEnd {
  LogPosition position;
  std::chrono::nanoseconds last_t{0};  // run clock of the last line
};

// Nothing when there is no such log, or nothing but a torn header. Throws DamagedFile when no line
// of the last kMostTornBytes can be read, UsageError when the file cannot.
inline constexpr std::size_t kMostTornBytes = 16 << 20;
std::optional<LogEnd> find_log_end(const std::string& path, const std::string& peer);

}  // namespace hearsay::runtime
