// SPDX-License-Identifier: Apache-2.0
// hearsay inspect RUN|FILE: of a run or one of its logs, what must hold for every log
// (log/invariants.hpp) and what its merge graph says; of a checkpoint, a model, a journal or a file
// of wire messages, what it is and whether it is whole. Reads only. Exit code 1 when something does
// not hold, 4 when something is damaged, 2 when it is nothing that hearsay writes.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/command_inspect.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/log/invariants.hpp"
#include "runtime/log/run_logs.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kWholePool = "pool";  // who says how a simulation ended

const CommandSyntax& inspect_syntax() {
  static const CommandSyntax syntax{
      .name = "inspect",
      .words = "RUN|FILE",
      .summary = "say what a run (runs/latest), log, checkpoint, model, journal or frame file is",
      .options = {"json"},
      .own = {},
      .max_words = 1,
      .examples = {"hearsay inspect", "hearsay inspect runs/latest --json",
                   "hearsay inspect runs/latest/peers/p03/events.jsonl",
                   "hearsay inspect runs/latest/peers/p03/ckpt/000120",
                   "hearsay inspect runs/latest/export/model.safetensors"}};
  return syntax;
}

struct Finding {
  std::size_t logs = 0, events = 0;
  std::map<std::string, std::size_t> counts;  // by event name
  std::set<std::string> peers;
  std::vector<std::string> torn;  // "runs/x/peers/p03/events.jsonl at byte 120"
  std::vector<std::string> damaged;
  Breaches breaches;
  bool is_virtual = false;

  std::size_t count(const std::string& name) const {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  }
  bool holds() const { return damaged.empty() && breaches.empty(); }
};

Finding examine(const RunLogs& run) {
  Finding found;
  found.logs = run.logs.size() + run.earlier.size();
  found.damaged = run.damaged;
  found.is_virtual = run.virtual_clock();
  for (const auto* logs : {&run.logs, &run.earlier}) {
    for (const RunLogs::One& each : *logs) {
      if (each.log.truncated)
        found.torn.push_back(each.path + " at byte " + std::to_string(each.log.truncated_at_bytes));
    }
  }
  for (const RunLogs::One& each : run.earlier) {
    for (const std::string& line : broken_by_itself(each.log.events))
      found.breaches.push_back(each.path + ": " + line);
  }
  const std::vector<LoggedEvent> events = RunLogs::events_of(run.logs);
  found.events = events.size();
  for (const LoggedEvent& event : events) {
    ++found.counts[event.ev];
    if (event.peer != kWholePool) found.peers.insert(event.peer);
  }
  const auto clock = found.is_virtual ? ClockKind::virtual_time : ClockKind::monotonic;
  for (std::string& line : broken_invariants(events, clock, RunLogs::events_of(run.earlier)))
    found.breaches.push_back(std::move(line));
  return found;
}

// What one log says of exchanges with peers whose logs are not there cannot be checked.
Finding examine_one(const RunLogs& run) {
  Finding found = examine(run);
  if (found.peers.size() == 1) {
    std::erase_if(found.breaches,
                  [](const std::string& line) { return line.starts_with("delta: "); });
  }
  return found;
}

void print_lines(const Description& about) {
  for (const auto& [label, text] : about.lines) {
    std::string left = "  " + label;
    left.resize(std::max<std::size_t>(14, left.size() + 1), ' ');
    std::cout << left << printable(text) << "\n";
  }
}

// Of anything but a run or a log.
int tell_of_file(const std::string& path, const Description& about, bool json) {
  if (json) {
    Json j = {{"path", path}};
    j.update(about.json);
    j["damaged"] = about.damaged;
    j["ok"] = about.damaged.empty();
    std::cout << j.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    std::cout << printable(path) << "\n"
              << "  is          " << about.json.value("kind", "") << "\n";
    print_lines(about);
    for (const std::string& line : about.damaged)
      std::cout << "  damaged     " << printable(line) << "\n";
  }
  return static_cast<int>(about.damaged.empty() ? kernels::ExitCode::ok
                                                : kernels::ExitCode::damaged);
}

void print_json(const std::string& path, const Finding& found, const Json& graph) {
  Json j = {{"path", path}, {"logs", found.logs}, {"peers", found.peers.size()}};
  j["clock"] = found.is_virtual ? "virtual" : "monotonic";
  j["events"] = found.events;
  j["counts"] = found.counts;
  j["torn"] = found.torn;
  j["damaged"] = found.damaged;
  j["breaches"] = found.breaches;
  if (!graph.is_null()) j["graph"] = graph;
  j["ok"] = found.holds();
  std::cout << j.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

void print_text(const std::string& path, const Finding& found) {
  std::cout << printable(path) << "\n"
            << "  logs        " << found.logs << " of " << found.peers.size() << " peers, "
            << (found.is_virtual ? "virtual" : "monotonic") << " clock, " << found.events
            << " events\n"
            << "  merges      " << found.count("merge.applied") << " applied of "
            << found.count("merge.decided") << " decided, " << found.count("delta.sent")
            << " sent, " << found.count("delta.received") << " received\n"
            << "  peers       " << found.count("peer.left") << " left, "
            << found.count("run.resumed") << " came back, " << found.count("fault.seen")
            << " faults seen\n";
  for (const std::string& line : found.torn)
    std::cout << "  torn        " << printable(line) << ": its writer was killed; not an error\n";
  for (const std::string& line : found.damaged)
    std::cout << "  damaged     " << printable(line) << "\n";
  for (const std::string& line : found.breaches)
    std::cout << "  broken      " << printable(line) << "\n";
  std::cout << "  invariants  "
            << (found.holds()
                    ? "hold\n"
                    : "do not hold: " + std::to_string(found.breaches.size()) + " breaches, " +
                          std::to_string(found.damaged.size()) + " damaged logs\n");
}

}  // namespace

int command_inspect(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = inspect_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const std::string path = arguments.words.empty() ? "runs/latest" : arguments.words.front();
  if (!std::filesystem::exists(path))
    throw kernels::UsageError("inspect: there is no " + path +
                              "; name a run folder or a log of it");
  const FileKind kind = kind_of(path);
  const bool json = wants_json(arguments);
  switch (kind) {
    case FileKind::checkpoint: return tell_of_file(path, describe_checkpoint(path), json);
    case FileKind::safetensors: return tell_of_file(path, describe_safetensors(path), json);
    case FileKind::journal: return tell_of_file(path, describe_journal(path), json);
    case FileKind::frames: return tell_of_file(path, describe_frames(path), json);
    case FileKind::unknown:
      throw kernels::UsageError("inspect: " + path +
                                " is no event log, checkpoint, model, journal or wire message");
    case FileKind::event_log:
    case FileKind::run: break;
  }
  const bool is_run = kind == FileKind::run;
  const Finding found =
      is_run ? examine(read_run_logs(RunDir::open(path))) : examine_one(read_single_log(path));
  const Description graph = is_run ? describe_graph(RunDir::open(path)) : Description{};
  if (json) {
    print_json(path, found, is_run ? graph.json : Json());
  } else {
    print_text(path, found);
    print_lines(graph);
  }
  if (!found.damaged.empty()) return static_cast<int>(kernels::ExitCode::damaged);
  return static_cast<int>(found.holds() ? kernels::ExitCode::ok : kernels::ExitCode::check_failed);
}

}  // namespace hearsay::runtime
