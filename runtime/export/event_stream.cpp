// SPDX-License-Identifier: Apache-2.0
#include "runtime/export/event_stream.hpp"

#include <limits>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {

std::vector<std::string> for_each_event(
    const RunDir& run, const std::function<void(const LogOfRun&, LoggedEvent&&)>& visit) {
  const std::vector<RunLogFile> files = run_log_files(run);
  if (files.empty())
    throw kernels::UsageError(run.path() + ": there is no event log in this folder");
  std::vector<std::string> damage;
  LogOfRun log;
  for (const RunLogFile& file : files) {
    log.name = file.path.substr(run.path().size() + 1);
    try {
      const EventLog end = scan_events(
          file.path, {[&](const nlohmann::ordered_json& header) { log.header = header; },
                      [&](LoggedEvent&& event) { visit(log, std::move(event)); }});
      if (end.truncated)
        damage.push_back(file.path + ": the line at byte " +
                         std::to_string(end.truncated_at_bytes) + " is torn");
    } catch (const kernels::DamagedFile& fault) {
      damage.emplace_back(fault.what());
    }
    ++log.index;
  }
  return damage;
}

double number_of(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found != event.fields.end() && found->is_number()) return found->get<double>();
  const std::string text = text_of(event, key);
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t count_of(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_number_integer()) return 0;
  const auto value = found->get<std::int64_t>();
  return value > 0 && value < (std::int64_t{1} << 61) ? static_cast<std::uint64_t>(value) : 0;
}

std::string text_of(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

std::string dump_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace hearsay::runtime
