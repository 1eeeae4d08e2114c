// SPDX-License-Identifier: Apache-2.0
// hearsay launch -n N [flags of train] [-- command...]: N peers as processes on this machine.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/pool_view.hpp"
#include "runtime/app/resume_pool.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/config.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/peer_security.hpp"
#include "runtime/launch/local_peer.hpp"
#include "runtime/launch/pool_watch.hpp"
#include "runtime/launch/root_cause.hpp"
#include "runtime/metrics/served_display.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

// What stands before and after a "--", with -n N written out as --peers N.
struct LaunchWords {
  std::vector<std::string> flags, command;
};

LaunchWords split_words(const std::vector<std::string>& args) {
  LaunchWords words;
  const auto end = std::find(args.begin(), args.end(), "--");
  for (auto word = args.begin(); word != end; ++word) {
    if (*word == "-n") {
      words.flags.push_back("--peers");
    } else if (word->starts_with("-n") && word->size() > 2) {
      words.flags.insert(words.flags.end(), {"--peers", word->substr(2)});
    } else {
      words.flags.push_back(*word);
    }
  }
  if (end != args.end()) words.command.assign(end + 1, args.end());
  if (end != args.end() && words.command.empty())
    throw UsageError("hearsay launch: a command follows --, or leave the -- out");
  return words;
}

// Peers read the configuration that the launcher has merged, so that all have the same.
std::vector<std::string> peer_words(const LaunchWords& words, const std::string& config_path,
                                    const std::string& data) {
  if (!words.command.empty()) return words.command;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return {self, "train", "--config", config_path, "--data", data};
}

// Variables that set run options are in the configuration already, where flags may have overruled
// them. HEARSAY_DATA stays: it may also be the folder of the data set.
std::vector<std::string> option_variables() {
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    if (option.name != "data") names.push_back(environment_name(option) + "=");
  }
  return names;
}

// What is not in run.json, by its name only: a secret's file, or the variable that holds it and
// that peers inherit.
void add_security(const RunConfig& config, ChildCommand& command) {
  if (config.secret) command.environment.push_back({"HEARSAY_SECRET", *config.secret});
  if (config.tls) command.environment.push_back({"HEARSAY_TLS", *config.tls});
  if (config.revoked) command.environment.push_back({"HEARSAY_REVOKED", *config.revoked});
}

std::vector<std::unique_ptr<WatchedPeer>> start_peers(const RunConfig& config, const RunDir& run,
                                                      const LaunchWords& words) {
  std::vector<std::unique_ptr<WatchedPeer>> peers;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    if (stop_signal() != 0) break;  // gather() ends those that are there
    const std::string name = gossip::peer_name(kernels::PeerId(i));
    run.prepare_peer_dir(name);
    ChildCommand command;
    command.words = peer_words(words, run.run_json(), config.data);
    command.environment = {{"HEARSAY_PEER", std::to_string(i)},
                           {"HEARSAY_PEERS", std::to_string(config.peers)},
                           {"HEARSAY_LOCAL_RANK", std::to_string(i)}};
    if (config.resume) {
      command.environment.push_back({"HEARSAY_RUN", run.path()});
      command.environment.push_back({"HEARSAY_RESUME", "true"});
    }
    add_security(config, command);
    command.dropped_prefixes = option_variables();
    command.output_path = run.peer_stderr(name);
    peers.push_back(std::make_unique<LocalPeer>(name, command));
  }
  return peers;
}

int print_plan(const RunConfig& config, const LaunchWords& words) {
  std::string line;
  for (const std::string& word : peer_words(words, "RUN/run.json", config.data)) line += " " + word;
  std::cout << "peers     " << config.peers << " processes on this machine, each:" << line << "\n"
            << "training  " << config.data << ", " << config.split << ", " << config.epochs
            << " epochs, " << config.protocol.text << "\n"
            << "sizes     hearsay sim --dry-run with the same flags\n"
            << "dry run: nothing was started or written\n";
  return 0;
}

}  // namespace

int command_launch(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = launch_syntax();
  const LaunchWords words = split_words(args);
  const Arguments arguments = parse_arguments(syntax, words.flags);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const Settings given = merge_settings(arguments, process_environment());
  std::optional<ResumedPool> resumed;
  if (wants_resume(given)) resumed = resumed_pool(given, arguments, process_environment());
  const Settings& settings = resumed ? resumed->settings : given;
  const RunConfig config = typed_config(settings);
  with_origins(settings, [&] {
    check_names(config);
    build_pool_plan(config);
    parse_live_faults(config);
  });
  if (resumed) {
    refuse_running(*resumed, config);
    check_resumable(*resumed, config);
  }
  if (config.dry_run) return print_plan(config, words);
  security_of(config);  // one line, before there are peers that would all say it
  std::signal(SIGPIPE, SIG_IGN);
  catch_stop_signals();
  catch_checkpoint_signal();
  before_leaving_at_once(kill_local_peers);
  PoolView view(PoolView::options_for(config.quiet, process_environment()));
  ServedDisplay display(config, view);
  const RunFacts facts{"launch", "hearsay", "monotonic", {}, {}, {}};
  if (resumed) take_up_run(*resumed, config, facts);
  const RunDir run = resumed ? resumed->run : begin_run(settings, config, facts);
  const auto give_up = [&] { resumed ? give_back_run(*resumed) : discard_run(run); };
  display.set_run(run.name(), config.min_peers);
  std::unique_ptr<PoolWatch> watch;
  bool all_listen = false;
  const auto signals = [&] {
    if (all_listen && take_checkpoint_request()) watch->ask_for_checkpoints();
    return stop_signal_heeded();
  };
  try {
    watch = std::make_unique<PoolWatch>(config, start_peers(config, run, words), display, signals);
  } catch (...) {
    give_up();
    throw;
  }
  if (const auto failure = watch->gather()) {
    give_up();
    if (!failure->line.empty()) std::cerr << "hearsay: " << failure->line << "\n";
    return failure->exit_code;
  }
  all_listen = true;
  if (resumed) clear_results(run, config);
  if (!config.quiet) {
    std::cerr << "hearsay " << version_number() << "  " << config.peers << " peer processes, "
              << config.data << ", " << config.split << ", " << config.protocol.text << "  ->  "
              << run.path() << (resumed ? " (goes on)" : "") << std::endl;
  }
  const PoolEnding ending = watch->watch(run.path());
  std::cerr << root_cause_table(run, watch->deaths());
  return finish_pool(run, config, ending);
}

}  // namespace hearsay::runtime
