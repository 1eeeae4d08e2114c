// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/event_reader.hpp"

#include <cerrno>
#include <fstream>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/json_nesting.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

using nlohmann::ordered_json;

struct Line {
  const std::string& path;
  std::size_t offset_bytes;

  [[noreturn]] void damaged(const std::string& what) const {
    throw kernels::DamagedFile(path, offset_bytes, what);
  }
};

ordered_json parse_object(const Line& line, const std::string& text) {
  if (nests_too_deeply(text)) line.damaged("this line is nested too deeply");
  ordered_json object;
  try {
    object = ordered_json::parse(text);
  } catch (const ordered_json::parse_error& error) {
    const std::size_t inside_bytes = error.byte > 0 ? error.byte - 1 : 0;
    Line{line.path, line.offset_bytes + inside_bytes}.damaged("this line is not JSON");
  } catch (const ordered_json::exception&) {
    line.damaged("a number on this line is out of range");
  }
  if (!object.is_object()) line.damaged("this line is not a JSON object");
  return object;
}

const ordered_json& required(const Line& line, const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) line.damaged(std::string("this line has no key '") + key + "'");
  return *found;
}

std::string required_text(const Line& line, const ordered_json& object, const char* key) {
  const ordered_json& value = required(line, object, key);
  if (!value.is_string()) line.damaged(std::string("'") + key + "' is not a string");
  return value.get<std::string>();
}

bool fits_int64(const ordered_json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
}

LoggedEvent to_event(const Line& line, ordered_json object) {
  LoggedEvent event;
  event.ev = required_text(line, object, "ev");
  event.peer = required_text(line, object, "peer");
  const ordered_json& time = required(line, object, "t_ns");
  if (!fits_int64(time)) line.damaged("'t_ns' is not an integer");
  event.t_ns = time.get<std::int64_t>();
  const ordered_json& number = required(line, object, "n");
  if (!number.is_number_unsigned()) line.damaged("'n' is not a whole number");
  event.n = number.get<std::uint64_t>();
  for (const char* key : {"ev", "t_ns", "peer", "n"}) object.erase(key);
  event.fields = std::move(object);
  return event;
}

ordered_json to_header(const Line& line, ordered_json object) {
  if (required_text(line, object, "ev") != "run.started")
    line.damaged("the first line is not run.started");
  const ordered_json& schema = required(line, object, "schema");
  if (!fits_int64(schema) || schema.get<std::int64_t>() < 1)
    line.damaged("'schema' is not a whole number from 1");
  if (schema.get<std::int64_t>() > kEventSchema) {
    throw kernels::UsageError(line.path + ": schema " + std::to_string(schema.get<std::int64_t>()) +
                              " is newer than this program reads (" + std::to_string(kEventSchema) +
                              "); use the hearsay that wrote it");
  }
  return object;
}

}  // namespace

bool EventLog::virtual_clock() const {
  const auto clock = header.find("clock");
  return clock != header.end() && *clock == "virtual";
}

EventLog scan_events(const std::string& path, const EventScan& scan) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw kernels::UsageError("event log " + path + ": " + error_text(errno));
  EventLog log;
  std::string text;
  std::size_t offset_bytes = 0;
  while (std::getline(in, text)) {
    const bool has_newline = !in.eof();
    const Line line{path, offset_bytes};
    if (!has_newline && !ordered_json::accept(text)) {
      log.truncated = true;
      log.truncated_at_bytes = offset_bytes;
      break;
    }
    ordered_json object = parse_object(line, text);
    if (offset_bytes == 0) {
      log.header = to_header(line, std::move(object));
      if (scan.header) scan.header(log.header);
    } else {
      scan.event(to_event(line, std::move(object)));
    }
    offset_bytes += text.size() + (has_newline ? 1 : 0);
  }
  if (in.bad()) throw kernels::UsageError("event log " + path + ": " + error_text(errno));
  if (log.header.is_null()) throw kernels::DamagedFile(path, 0, "there is no whole header line");
  return log;
}

EventLog read_events(const std::string& path) {
  std::vector<LoggedEvent> events;
  EventLog log = scan_events(
      path, {nullptr, [&](LoggedEvent&& event) { events.push_back(std::move(event)); }});
  log.events = std::move(events);
  return log;
}

}  // namespace hearsay::runtime
