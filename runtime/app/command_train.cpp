// SPDX-License-Identifier: Apache-2.0
// hearsay train: be one peer. Under `hearsay launch` or a supervisor everything comes over the
// control channel; under mpirun this process becomes the supervisor; other launchers say rank and
// size, and peers find each other by files; otherwise a person has started it, as the first peer
// (--listen) or to join one (--join).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <thread>

#include <poll.h>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/by_hand.hpp"
#include "runtime/app/by_rank.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/launcher.hpp"
#include "runtime/app/resume_pool.hpp"
#include "runtime/app/run_header.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/config.hpp"
#include "runtime/host/live_peer.hpp"
#include "runtime/launch/control.hpp"
#include "runtime/launch/supervise.hpp"

namespace hearsay::runtime {
namespace {

using kernels::ExitCode;
using kernels::UsageError;

constexpr std::chrono::milliseconds kLetRank0Speak{1500};

std::uint64_t variable_as_count(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) throw UsageError(std::string(name) + " is not set by the launcher");
  return parse_count(name, text);
}

// The watcher's next order; empty when it has died or this process was told to stop.
std::optional<control::Start> wait_for_start(ControlChannel& channel) {
  while (stop_signal() == 0 && !channel.closed()) {
    pollfd ready{channel.fd(), POLLIN, 0};
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR) break;
    for (const std::string& line : channel.receive()) {
      const auto order = control::decode_to_peer(line);
      if (!order) continue;
      if (const auto* start = std::get_if<control::Start>(&*order)) return *start;
      if (std::holds_alternative<control::Stop>(*order)) return std::nullopt;
    }
  }
  return std::nullopt;
}

void obey(ControlChannel& channel, LiveOrders& orders) {
  for (const std::string& line : channel.receive()) {
    const auto order = control::decode_to_peer(line);
    if (!order) continue;
    if (const auto* stop = std::get_if<control::Stop>(&*order)) orders.stop = stop->reason;
    if (const auto* evaluate = std::get_if<control::Evaluate>(&*order))
      orders.evaluate_round = evaluate->round;
    if (const auto* slow = std::get_if<control::Slow>(&*order)) orders.slow_factor = slow->factor;
    if (const auto* network = std::get_if<control::Network>(&*order)) orders.network = *network;
    if (const auto* hostile = std::get_if<control::Hostile>(&*order))
      orders.hostile.push_back({hostile->what, hostile->strength, hostile->begins});
  }
  channel.flush();
  if (channel.closed() && !orders.stop) orders.stop = "its watcher died";
  // The pool goes on without it, so not "interrupted": that is said of whole pools.
  if (stop_signal() != 0 && !orders.stop) {
    orders.stop = "told to leave";
    orders.leaves = true;
  }
}

int exit_code_of(const PeerResult& result) {
  if (stop_signal() != 0) return 128 + stop_signal();
  return static_cast<int>(result.alive ? ExitCode::ok : ExitCode::check_failed);
}

// A peer whose watcher says when to start, and hears how it goes.
int run_watched(RunConfig config, ControlChannel channel, const std::string& launcher) {
  const auto id = variable_as_count("HEARSAY_PEER");
  config.peers = static_cast<std::uint32_t>(variable_as_count("HEARSAY_PEERS"));
  if (id >= config.peers) throw UsageError("HEARSAY_PEER is not below HEARSAY_PEERS");
  const kernels::PeerId self(static_cast<std::uint32_t>(id));
  LivePeer peer(config, self, PeerSocket(config));
  if (config.resume) {
    peer.resume(RunDir::open(config.run_dir), [](const std::string& line) {
      std::cerr << "hearsay: damaged, looking for the checkpoint before it: " << line << std::endl;
    });
  }
  channel.send(control::encode(control::FromPeer(control::Ready{peer.announced().text()})));
  channel.flush();
  const auto start = wait_for_start(channel);
  if (!start) return stop_signal() != 0 ? 128 + stop_signal() : static_cast<int>(ExitCode::usage);
  if (start->peers.size() != config.peers) throw UsageError("the watcher named too few peers");
  PeerPlace place;
  const RunDir run = RunDir::open_or_create(start->run);
  place.incarnation = std::max(start->incarnation, peer.next_incarnation(run));
  place.late = start->late;
  for (std::uint32_t i = 0; i < config.peers; ++i) {
    if (i != self.value)
      place.book.push_back({kernels::PeerId(i), 0, parse_endpoint("start", start->peers[i])});
  }

  LivePeer::Outside outside;
  outside.poll = [&](LiveOrders& orders) { obey(channel, orders); };
  PeerStatus newest;
  outside.status = [&](const PeerStatus& status) {
    newest = status;
    channel.send(control::encode(control::FromPeer(status)), true);
  };
  outside.notice = [&](const std::string& text) {
    channel.send(control::encode(control::FromPeer(control::Notice{text})));
  };
  outside.checkpoint_asked = take_checkpoint_request;
  const RunFacts facts{"train", launcher, "monotonic", {}, {}, {}, peer.device()};
  const PeerResult result =
      peer.run(run, place, header_event(run, config, facts, self), version_number(), outside);
  if (result.alive) {  // the last word on accuracy, for a target that is met at the end only
    newest.accuracy = result.test.accuracy;
    newest.evaluated_s = result.wall_s.value_or(newest.clock_s);
    channel.send(control::encode(control::FromPeer(newest)));
  }
  channel.send(control::encode(control::FromPeer(control::Ended{result.reason, result.alive})));
  channel.flush();
  if (!result.alive) std::cerr << "hearsay: " << result.name << ": " << result.reason << "\n";
  return exit_code_of(result);
}

std::optional<ControlChannel> inherited_channel() {
  const char* const text = std::getenv("HEARSAY_CONTROL_FD");
  if (text == nullptr) return std::nullopt;
  const auto fd = static_cast<int>(parse_count("HEARSAY_CONTROL_FD", text));
  unsetenv("HEARSAY_CONTROL_FD");
  return ControlChannel(fd);
}

bool is_mpi(const Launcher& launcher) {
  return launcher.name == "openmpi" || launcher.name == "pmix";
}

int train(const std::vector<std::string>& args, const Launcher& launcher) {
  const CommandSyntax& syntax = train_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  Settings settings = merge_settings(arguments, process_environment());
  // A peer of hearsay launch is given the configuration as it goes on.
  std::optional<ResumedPool> resumed;
  if (wants_resume(settings) && !(std::getenv("HEARSAY_CONTROL_FD") && arguments.has("config"))) {
    resumed = resumed_pool(settings, arguments, process_environment());
    settings = resumed->settings;
  }
  RunConfig config = typed_config(settings);
  with_origins(settings, [&] {
    check_names(config);
    build_pool_plan(config);
  });
  std::signal(SIGPIPE, SIG_IGN);
  if (auto channel = inherited_channel()) {
    catch_stop_signals();
    catch_checkpoint_signal();
    catch_watcher_death();
    return run_watched(std::move(config), std::move(*channel), launcher.name);
  }
  const bool unsupervised = arguments.is_on("no-supervisor");
  if (unsupervised && !is_mpi(launcher))
    throw UsageError("--no-supervisor: there is a supervisor under mpirun only; leave it out");
  if (config.join || launcher.name == "single") {
    if (config.resume) {
      throw UsageError(
          "--resume: not of a pool that is started by hand; hearsay launch --run DIR --resume goes "
          "on with its peers on this machine, mpirun and srun on several");
    }
    return train_by_hand(config, settings);
  }
  if (is_mpi(launcher) && !unsupervised)
    return supervise_under_mpi(args, settings, std::move(resumed));
  if (unsupervised && launcher.rank == 0) {
    std::cerr << "hearsay: warning: --no-supervisor: mpirun ends the whole job when one peer dies"
              << std::endl;
  }
  if (launcher.name == "hearsay" && config.run_dir.empty()) {
    throw UsageError(
        "hearsay train: HEARSAY_PEER is set, but no watcher has started this process; unset it, "
        "give all peers the same --run DIR, or use hearsay launch -n N");
  }
  return train_by_rank(settings, launcher, std::move(resumed));
}

}  // namespace

// Ranks of an MPI job have the same words, hence the same fault: rank 0 says it, and by then mpirun
// has ended the others, unless it is their own.
int command_train(const std::vector<std::string>& args) {
  const Launcher launcher = detect_launcher(process_environment());
  const bool is_follower = is_mpi(launcher) && launcher.rank.value_or(0) > 0 &&
                           std::getenv("HEARSAY_CONTROL_FD") == nullptr;
  try {
    return train(args, launcher);
  } catch (const kernels::Fault&) {
    if (is_follower) std::this_thread::sleep_for(kLetRank0Speak);
    throw;
  }
}

}  // namespace hearsay::runtime
