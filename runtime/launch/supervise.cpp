// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/supervise.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/launcher.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/pool_view.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/peer_security.hpp"
#include "runtime/launch/follower.hpp"
#include "runtime/launch/held_output.hpp"
#include "runtime/launch/local_peer.hpp"
#include "runtime/launch/pool_watch.hpp"
#include "runtime/launch/remote_peer.hpp"
#include "runtime/launch/root_cause.hpp"
#include "runtime/metrics/served_display.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;
using namespace std::chrono_literals;

constexpr auto kLook = 10ms;  // where nothing but MPI can have news, for moments only

struct Job {
  std::uint32_t rank = 0, size = 1;
  std::string launcher;
};

Job this_job() {
  const Launcher launcher = detect_launcher(process_environment());
  if (!launcher.rank || !launcher.size || *launcher.rank >= *launcher.size)
    throw UsageError("hearsay train: " + launcher.name +
                     " does not say which of how many processes this is; try mpirun -n N");
  return {static_cast<std::uint32_t>(*launcher.rank), static_cast<std::uint32_t>(*launcher.size),
          launcher.name};
}

ChildCommand peer_command(const std::vector<std::string>& args, const Job& job,
                          const HeldOutput& output) {
  ChildCommand command;
  command.words = {std::filesystem::read_symlink("/proc/self/exe").string(), "train"};
  command.words.insert(command.words.end(), args.begin(), args.end());
  command.environment = {{"HEARSAY_PEER", std::to_string(job.rank)},
                         {"HEARSAY_PEERS", std::to_string(job.size)}};
  if (const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK"))  // dropped below
    command.environment.push_back({"HEARSAY_LOCAL_RANK", local});
  // Or the launcher would take the peer for one of its processes.
  command.dropped_prefixes = {"OMPI_", "PMIX_", "PMI_", "ORTE_"};
  command.output_path = output.path();
  return command;
}

std::vector<std::unique_ptr<WatchedPeer>> all_peers(std::unique_ptr<LocalPeer> own, MpiLink& link,
                                                    SupervisorMail& mail) {
  std::vector<std::unique_ptr<WatchedPeer>> peers;
  peers.push_back(std::move(own));
  for (int rank = 1; rank < link.size(); ++rank) {
    std::optional<relay::Hello> hello;
    while (!(hello = mail.take_hello(rank))) std::this_thread::sleep_for(kLook);
    const auto name = gossip::peer_name(kernels::PeerId(static_cast<std::uint32_t>(rank)));
    peers.push_back(std::make_unique<RemotePeer>(name, rank, *hello, mail));
  }
  return peers;
}

// What `hearsay launch` does, over peers of which one is a child of this process.
int watch_pool(const Settings& settings, const RunConfig& config, const Job& job,
               const std::optional<ResumedPool>& resumed,
               std::vector<std::unique_ptr<WatchedPeer>> peers, HeldOutput& output) {
  WatchedPeer& own = *peers.front();
  PoolView view(PoolView::options_for(config.quiet, process_environment()));
  ServedDisplay display(config, view);
  PoolWatch watch(config, std::move(peers), display, [&] {
    if (take_checkpoint_request()) own.signal(SIGUSR1);
    output.flush();
    return stop_signal_heeded();
  });
  if (const auto failure = watch.gather()) {
    if (!failure->line.empty()) std::cerr << "hearsay: " << failure->line << std::endl;
    return failure->exit_code;
  }
  const RunFacts facts{"train", job.launcher, "monotonic", {}, {}, {}};
  if (resumed) {
    take_up_run(*resumed, config, facts);
    clear_results(resumed->run, config);
  }
  const RunDir run = resumed ? resumed->run : begin_run(settings, config, facts);
  display.set_run(run.name(), config.min_peers);
  run.prepare_peer_dir(own.name());
  output.keep_in(run.peer_stderr(own.name()));
  if (!config.quiet) {
    std::cerr << "hearsay " << version_number() << "  " << config.peers << " peers under "
              << job.launcher << ", " << config.data << ", " << config.split << ", "
              << config.protocol.text << "  ->  " << run.path() << std::endl;
  }
  const PoolEnding ending = watch.watch(std::filesystem::absolute(run.path()).string());
  output.flush();
  std::cerr << root_cause_table(run, watch.deaths());
  return finish_pool(run, config, ending);
}

// Rank 0. Whatever happens here, the other ranks hear an exit code.
int lead_job(const Settings& settings, const RunConfig& config, const Job& job,
             const std::optional<ResumedPool>& resumed, std::unique_ptr<LocalPeer> own,
             MpiLink& link, HeldOutput& output) {
  SupervisorMail mail(link);
  const auto end_with = [&](int code) {
    for (int rank = 1; rank < link.size(); ++rank) mail.send(rank, relay::Verdict{code});
    while (!link.all_sent()) std::this_thread::sleep_for(kLook);
    return code;
  };
  try {
    return end_with(
        watch_pool(settings, config, job, resumed, all_peers(std::move(own), link, mail), output));
  } catch (const kernels::Fault& fault) {
    end_with(static_cast<int>(fault.code()));
    throw;
  } catch (const std::exception&) {
    end_with(static_cast<int>(kernels::ExitCode::usage));
    throw;
  }
}

int follow_job(LocalPeer& own, MpiLink& link, HeldOutput& output) {
  Follower follower(link, own, output, {stop_signal_heeded, take_checkpoint_request});
  std::optional<int> code;
  while (!code) code = follower.step();
  while (!link.all_sent()) std::this_thread::sleep_for(kLook);
  return *code;
}

// Ranks are places, and all begin together.
void refuse_places(const RunConfig& config) {
  if (!config.name.empty())
    throw UsageError("--name: under mpirun the rank is the place; leave it out");
  if (config.start_with != 0)
    throw UsageError("--start-with: under mpirun all peers begin together; leave it out");
}

int print_plan(const Job& job, const ChildCommand& command) {
  if (job.rank != 0) return 0;
  std::cout << "peers     " << job.size << " processes under " << job.launcher << ", each:";
  for (const std::string& word : command.words) std::cout << " " << word;
  std::cout << "\ndry run: nothing was started or written\n";
  return 0;
}

}  // namespace

int supervise_under_mpi(const std::vector<std::string>& args, const Settings& settings,
                        std::optional<ResumedPool> resumed) {
  if (!mpi_is_built_in()) open_mpi_link();  // says what to do instead
  const Job job = this_job();
  const Launcher launcher = detect_launcher(process_environment());
  const Settings effective = with_job_size(settings, launcher);
  const RunConfig config = typed_config(effective);
  refuse_places(config);
  with_origins(effective, [&] {
    build_pool_plan(config);
    parse_live_faults(config);
  });
  if (resumed) {
    resumed->settings = effective;
    refuse_running(*resumed, config);
    check_resumable(*resumed, config);
  }
  HeldOutput output;
  ChildCommand command = peer_command(args, job, output);
  const std::string listen = listen_of_job(effective, launcher);
  if (listen != effective.text("listen"))
    command.words.insert(command.words.end(), {"--listen", listen});
  if (config.dry_run) return print_plan(job, command);
  refuse_open_address(config, parse_endpoint("--listen", listen));
  catch_stop_signals();
  catch_checkpoint_signal();
  const auto name = gossip::peer_name(kernels::PeerId(job.rank));
  auto own = std::make_unique<LocalPeer>(name, command);  // before MPI_Init
  const std::unique_ptr<MpiLink> link = open_mpi_link();
  if (link->size() != static_cast<int>(job.size)) {
    throw UsageError("MPI_Init finds " + std::to_string(link->size()) + " of the " +
                     std::to_string(job.size) + " processes that " + job.launcher +
                     " has started: another MPI than hearsay was built with? --no-supervisor "
                     "does without");
  }
  if (job.rank == 0)
    return lead_job(effective, config, job, resumed, std::move(own), *link, output);
  return follow_job(*own, *link, output);
}

}  // namespace hearsay::runtime
