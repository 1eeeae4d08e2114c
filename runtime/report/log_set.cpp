// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/log_set.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/log/json_nesting.hpp"
#include "runtime/log/run_logs.hpp"
#include "runtime/report/event_fields.hpp"
#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

namespace fs = std::filesystem;

OneLog to_log(RunLogs::One one) {
  OneLog log;
  log.path = std::move(one.path);
  log.owner = std::move(one.peer);
  log.is_torn = one.log.truncated;
  log.header = std::move(one.log.header);
  log.events = std::move(one.log.events);
  return log;
}

bool to_event(Json object, LoggedEvent& event) {
  event.ev = text_at(object, "ev");
  event.peer = text_at(object, "peer");
  const auto time = object.find("t_ns");
  if (event.ev.empty() || event.peer.empty() || time == object.end() || !time->is_number_integer())
    return false;
  event.t_ns = time->get<std::int64_t>();
  event.n = whole_at(object, "n");
  for (const char* key : {"ev", "t_ns", "peer", "n"}) object.erase(key);
  event.fields = std::move(object);
  return true;
}

// The lines of a damaged log that are whole events.
OneLog salvage(const std::string& path, const std::string& owner, std::size_t& lost_lines) {
  OneLog log;
  log.path = path;
  log.owner = owner;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  while (std::getline(in, text)) {
    Json object;
    if (!nests_too_deeply(text)) object = Json::parse(text, nullptr, false);
    LoggedEvent event;
    if (object.is_object() && text_at(object, "ev") == "run.started") {
      log.header = std::move(object);
    } else if (object.is_object() && to_event(std::move(object), event)) {
      log.events.push_back(std::move(event));
    } else {
      ++lost_lines;
    }
  }
  return log;
}

std::vector<std::pair<std::string, std::string>> all_log_files(const RunDir& run) {
  std::vector<std::pair<std::string, std::string>> files;  // owner, path
  std::error_code none;
  if (fs::exists(run.events_jsonl(), none)) files.emplace_back("", run.events_jsonl());
  for (const auto& folder : fs::directory_iterator(run.path() + "/peers", none)) {
    for (const auto& file : fs::directory_iterator(folder.path(), none)) {
      const std::string name = file.path().filename();
      if (name.starts_with("events.") && name.ends_with(".jsonl"))
        files.emplace_back(folder.path().filename(),
                           run.peer_dir(folder.path().filename().string()) + "/" + name);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void add_salvaged(const RunDir& run, LogSet& set) {
  std::set<std::string> whole;
  for (const OneLog& log : set.logs) whole.insert(log.path);
  for (const auto& [owner, path] : all_log_files(run)) {
    if (whole.contains(path)) continue;
    std::size_t lost_lines = 0;
    OneLog log = salvage(path, owner, lost_lines);
    if (log.events.empty() && log.header.is_null()) {
      set.missing.push_back(path + " holds no event that can be read.");
      continue;
    }
    set.missing.push_back(path + " is damaged: " + plural(lost_lines, "line") +
                          " could not be read, " + plural(log.events.size(), "event") +
                          " could. The ancestry of models follows it up to the damage.");
    set.logs.push_back(std::move(log));
  }
}

}  // namespace

LogSet read_log_set(const RunDir& run) {
  RunLogs read = read_run_logs(run);
  LogSet set;
  for (auto* logs : {&read.logs, &read.earlier}) {
    for (RunLogs::One& one : *logs) set.logs.push_back(to_log(std::move(one)));
  }
  add_salvaged(run, set);
  std::sort(set.logs.begin(), set.logs.end(), [](const OneLog& a, const OneLog& b) {
    // "events.0.jsonl" is an earlier start than "events.jsonl", and sorts before it.
    return std::pair(a.owner, a.path) < std::pair(b.owner, b.path);
  });
  const bool has_events = std::any_of(set.logs.begin(), set.logs.end(),
                                      [](const OneLog& log) { return !log.events.empty(); });
  if (!has_events) {
    const std::string why = read.damaged.empty()
                                ? run.path() + ": no event has been logged yet; try again later"
                                : read.damaged.front();
    throw kernels::Fault(
        read.damaged.empty() ? kernels::ExitCode::usage : kernels::ExitCode::damaged, why);
  }
  return set;
}

}  // namespace hearsay::runtime::report
