// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/run_logs.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;

void add(RunLogs& all, std::vector<RunLogs::One>& to, const std::string& peer,
         const std::string& path) {
  try {
    to.push_back({peer, path, read_events(path)});
  } catch (const kernels::Fault& fault) {
    all.damaged.emplace_back(fault.what());
  }
}

// "events.0.jsonl", "events.1.jsonl": one a process that was started again without a checkpoint.
std::vector<std::string> earlier_logs(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder, none)) {
    const std::string name = file.path().filename();
    if (name.starts_with("events.") && name.ends_with(".jsonl") && name != "events.jsonl")
      paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);  // 10 comes after 9
  });
  return paths;
}

}  // namespace

bool RunLogs::virtual_clock() const {
  return !logs.empty() && std::all_of(logs.begin(), logs.end(),
                                      [](const One& each) { return each.log.virtual_clock(); });
}

std::vector<LoggedEvent> RunLogs::events_of(const std::vector<One>& logs) {
  std::vector<LoggedEvent> all;
  for (const One& each : logs)
    all.insert(all.end(), each.log.events.begin(), each.log.events.end());
  return all;
}

std::vector<RunLogFile> run_log_files(const RunDir& run) {
  std::vector<RunLogFile> files;
  std::error_code none;
  if (fs::exists(run.events_jsonl(), none)) files.push_back({"", run.events_jsonl(), false});
  std::vector<std::string> peers;
  for (const auto& folder : fs::directory_iterator(run.path() + "/peers", none))
    peers.push_back(folder.path().filename());
  std::sort(peers.begin(), peers.end());
  for (const std::string& peer : peers) {
    for (const std::string& path : earlier_logs(run.peer_dir(peer)))
      files.push_back({peer, path, true});
    if (fs::exists(run.peer_events(peer), none))
      files.push_back({peer, run.peer_events(peer), false});
  }
  return files;
}

RunLogs read_run_logs(const RunDir& run) {
  RunLogs all;
  for (const RunLogFile& file : run_log_files(run))
    add(all, file.is_earlier ? all.earlier : all.logs, file.peer, file.path);
  if (all.logs.empty() && all.damaged.empty())
    throw kernels::UsageError(run.path() + ": there is no event log in this folder");
  return all;
}

RunLogs read_single_log(const std::string& path) {
  RunLogs all;
  all.logs.push_back({"", path, read_events(path)});
  return all;
}

}  // namespace hearsay::runtime
