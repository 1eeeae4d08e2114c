// SPDX-License-Identifier: Apache-2.0
// hearsay watch [RUN|HOST:PORT]: a live view of any run, from its directory or its metrics
// endpoint. Reads only; a run does not notice.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "kernels/core/errc.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/pool_table.hpp"
#include "runtime/app/progress_text.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/terminal.hpp"
#include "runtime/metrics/peers_json.hpp"
#include "runtime/watch/endpoint_poll.hpp"
#include "runtime/watch/run_folder.hpp"
#include "runtime/watch/watch_picture.hpp"
#include "runtime/watch/watch_screen.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;
using namespace std::chrono_literals;

constexpr auto kRedraw = 250ms;
constexpr auto kPlainInterval = 10s;
constexpr int kUnlimitedRows = 5000;  // of what --once prints

const CommandSyntax& watch_syntax() {
  static const CommandSyntax syntax{
      .name = "watch",
      .words = "[RUN|HOST:PORT]",
      .summary = "live view of a run (runs/latest)",
      .options = {"json"},
      .own = {Option{.name = "once",
                     .default_text = "false",
                     .kind = ValueKind::boolean,
                     .placeholder = "",
                     .help = "print how it stands now, and end",
                     .detail = "With --json: the object that /peers.json serves, and the verdict.",
                     .group = "output"}},
      .max_words = 1,
      .examples = {"hearsay watch", "hearsay watch runs/fashion-s0-20260102-101500",
                   "hearsay watch 127.0.0.1:9464", "hearsay watch runs/latest --once --json"}};
  return syntax;
}

// An existing path is a run; else HOST:PORT, as it is or as the URL that --metrics prints.
std::unique_ptr<PoolSource> open_source(const std::string& word, WatchedPool& pool) {
  if (std::filesystem::exists(word)) return std::make_unique<RunFolder>(word, pool);
  std::string address = word;
  if (address.starts_with("http://")) {
    address = address.substr(7);
    address = address.substr(0, address.find('/'));
  }
  if (address.find(':') == std::string::npos || address.find('/') != std::string::npos)
    throw UsageError("there is no run " + word +
                     "; name a run folder (runs/latest), or the HOST:PORT of --metrics");
  return std::make_unique<EndpointPoll>(parse_endpoint("watch", address), pool);
}

std::string joined(const std::vector<StyledLine>& lines, bool has_colours) {
  std::string text;
  for (const StyledLine& line : lines) text += (has_colours ? line.ansi() : line.plain()) + "\n";
  return text;
}

int print_once(const WatchedPool& pool, PoolSource& source, bool json, bool utf8) {
  while (source.look() && stop_signal() == 0) continue;
  if (stop_signal() != 0) return 128 + stop_signal();
  if (pool.snapshot.peers.empty()) throw UsageError(pool.trouble + "; without --once it waits");
  if (json) {
    nlohmann::ordered_json j = peers_json(pool.snapshot);
    j["verdict"] = nullptr;
    if (!pool.verdict.empty()) j["verdict"] = pool.verdict;
    std::cout << text_of(j);
    return 0;
  }
  const int columns =
      ::isatty(STDOUT_FILENO) == 1 ? window_size(STDOUT_FILENO).columns : kWidestTable;
  std::cout << joined(draw_watch(pool, source.name(), {columns, kUnlimitedRows, utf8, false}),
                      false);
  return 0;
}

int watch_on_terminal(const WatchedPool& pool, PoolSource& source, bool utf8) {
  const auto picture = [&](bool has_keys) {
    const auto [columns, rows] = window_size(STDOUT_FILENO);
    return draw_watch(pool, source.name(), {columns, rows, utf8, has_keys});
  };
  {
    WatchScreen screen(STDOUT_FILENO, STDIN_FILENO);
    while (stop_signal() == 0) {
      const bool has_more = source.look();
      screen.show(picture(screen.has_keys()));
      if (screen.wait_for_quit(has_more ? 0ms : kRedraw)) break;
    }
  }
  std::cout << joined(picture(false), true);  // what the other screen has taken along
  return stop_signal_heeded() != 0 ? 128 + stop_signal() : 0;
}

// Ends by itself with the run.
int watch_plainly(const WatchedPool& pool, PoolSource& source, bool utf8) {
  std::size_t said = 0;
  std::string trouble;
  auto next_line = std::chrono::steady_clock::now();
  while (stop_signal() == 0 && std::cout) {
    if (source.look()) continue;
    if (pool.trouble != trouble && !pool.trouble.empty())
      std::cout << printable(pool.trouble_text()) << "\n";
    trouble = pool.trouble;
    const auto kept = pool.changes_so_far - pool.changes.size();
    for (said = std::max(said, kept); said < pool.changes_so_far; ++said)
      std::cout << plain_change(pool.changes[said - kept]) << "\n";
    const bool is_over = !pool.verdict.empty();
    const auto now = std::chrono::steady_clock::now();
    if (!pool.snapshot.peers.empty() && (is_over || now >= next_line)) {
      next_line = now + kPlainInterval;
      std::cout << plain_progress(pool, utf8) << "\n";
    }
    if (is_over) {
      std::cout << "[" << clock_text(pool.snapshot.now.wall_s)
                << "] ended: " << printable(pool.verdict) << std::endl;
      return 0;
    }
    std::cout.flush();
    std::this_thread::sleep_for(kRedraw);
  }
  return stop_signal_heeded() != 0 ? 128 + stop_signal() : 0;
}

}  // namespace

int command_watch(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = watch_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const bool once = arguments.is_on("once"), json = wants_json(arguments);
  if (json && !once && arguments.has("json"))
    throw UsageError("--json: one object needs one instant; add --once");
  const Environment environment = process_environment();
  const bool utf8 = speaks_utf8(environment);
  WatchedPool pool;
  const auto source =
      open_source(arguments.words.empty() ? "runs/latest" : arguments.words.front(), pool);
  catch_stop_signals();
  if (once) return print_once(pool, *source, json, utf8);
  if (may_redraw(STDOUT_FILENO, environment)) return watch_on_terminal(pool, *source, utf8);
  return watch_plainly(pool, *source, utf8);
}

}  // namespace hearsay::runtime
