// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/by_rank.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "gossip/event.hpp"
#include "kernels/core/errc.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/unwatched.hpp"
#include "runtime/app/version.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/launch/rendezvous.hpp"
#include "runtime/net/answers.hpp"

namespace hearsay::runtime {
namespace {

using kernels::PeerId;
using kernels::UsageError;

constexpr std::chrono::milliseconds kLook{100};

// RUN, the same on every rank without a word between them.
std::string run_path(const RunConfig& config, const Launcher& launcher) {
  if (!config.run_dir.empty()) return config.run_dir;
  if (launcher.job.empty()) {
    throw UsageError("hearsay train: " + launcher.name +
                     " says rank and size, but no name of the job by which its peers could find "
                     "each other; give all of them the same --run DIR");
  }
  std::string job = launcher.job;
  for (char& c : job) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return "runs/" + config.preset + "-s" + std::to_string(config.seed) + "-" + launcher.name + "-" +
         job;
}

// Of the job that made the run; empty when nobody has yet.
std::optional<std::string> session_in(const std::string& run) {
  std::ifstream file(run + "/run.json");
  if (!file) return std::nullopt;
  const auto j = nlohmann::json::parse(file, nullptr, false);
  const auto found = j.is_object() ? j.find("session") : j.end();
  return found != j.end() && found->is_string() ? found->get<std::string>() : "";
}

// True when this job has made the run and it has not ended.
bool is_own_run(const std::string& path, const std::string& session) {
  const auto made_by = session_in(path);
  if (!made_by) return false;
  if (*made_by != session) {
    throw UsageError("run directory " + path + " belongs to " +
                     (made_by->empty() ? "another run" : "job " + *made_by) + ", this is " +
                     session + "; choose another --run or remove it");
  }
  if (std::filesystem::exists(path + "/result.json")) {
    throw UsageError("run directory " + path +
                     ": that run has ended; choose another --run or remove it");
  }
  return true;
}

// Rank 0 makes the run, the others wait for it. Empty when a signal ended the waiting.
std::optional<RunDir> open_run(const Settings& settings, RunConfig config, const RunFacts& facts,
                               std::uint64_t rank, const std::string& path) {
  if (is_own_run(path, facts.session)) return RunDir::open(path);
  if (rank == 0) {
    config.run_dir = path;
    return begin_run(settings, config, facts);
  }
  WaitingWords words(config);
  while (!is_own_run(path, facts.session)) {
    if (!words.tick("waiting for p00 to make " + path +
                    " (all peers must see the same files; Ctrl-C gives up)"))
      return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
  return RunDir::open(path);
}

// The same for a run that goes on: rank 0 takes it up for this job, the others wait for that.
std::optional<RunDir> open_resumed(const ResumedPool& resumed, const RunConfig& config,
                                   const RunFacts& facts, std::uint64_t rank) {
  const RunDir& run = resumed.run;
  if (rank == 0 && session_in(run.path()) != facts.session) {
    take_up_run(resumed, config, facts);
    clear_results(run, config);
  }
  WaitingWords words(config);
  while (session_in(run.path()) != facts.session) {
    if (!words.tick("waiting for p00 to take up " + run.path() + " (Ctrl-C gives up)"))
      return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
  return run;
}

// Before the data is loaded, on every rank: who does not ask would wait for ever for a rank 0 that
// has refused. What started again within the job that has resumed goes on as it is.
void check_resumed(const ResumedPool& resumed, const RunConfig& config, const std::string& session,
                   std::uint64_t rank) {
  if (session_in(resumed.run.path()) != session) {
    if (rank == 0) refuse_running(resumed, config);
    check_resumable(resumed, config);
  } else if (std::filesystem::exists(resumed.run.result_json())) {
    throw UsageError("--resume: " + resumed.run.path() +
                     " was written by a job with the name of "
                     "this one (" +
                     session + "); give this one another name");
  }
}

int print_plan(const RunConfig& config, const Launcher& launcher, const std::string& path) {
  if (*launcher.rank != 0) return 0;
  std::cout << "peers     " << config.peers << " processes under " << launcher.name
            << ", which find each other in " << path << "\n"
            << "dry run: nothing was started or written\n";
  return 0;
}

}  // namespace

int train_by_rank(const Settings& own, const Launcher& launcher,
                  std::optional<ResumedPool> resumed) {
  if (!launcher.rank || !launcher.size || *launcher.rank >= *launcher.size) {
    throw UsageError("hearsay train: " + launcher.name +
                     " does not say which of how many processes this is");
  }
  Settings settings = with_job_size(own, launcher);
  settings.set("listen", {listen_of_job(settings, launcher)}, settings.origin("listen"));
  const RunConfig config = typed_config(settings);
  with_origins(settings, [&] { build_pool_plan(config); });
  refuse_watched_options(config, "nobody watches a pool under " + launcher.name +
                                     "; use hearsay launch -n N, or mpirun");
  if (!config.name.empty()) {
    throw UsageError("--name: under " + launcher.name + " the rank is the place; leave it out");
  }
  const std::string path = run_path(config, launcher);
  if (config.dry_run) return print_plan(config, launcher, path);
  refuse_open_address(config, parse_endpoint("--listen", config.listen));
  catch_stop_signals();
  catch_checkpoint_signal();

  const PeerId self(static_cast<std::uint32_t>(*launcher.rank));
  RunFacts facts{"train", launcher.name, "monotonic", {}, {}, {}};
  facts.session = launcher.name + (launcher.job.empty() ? "" : " " + launcher.job);
  if (resumed) {
    resumed->settings = settings;
    check_resumed(*resumed, config, facts.session, *launcher.rank);
  } else {
    is_own_run(path, facts.session);  // before the data is loaded
  }
  ServedPeer metrics(config);
  LivePeer peer(config, self, PeerSocket(config));
  facts.data_digest = peer.work().data_digest();
  facts.parameters = peer.work().layout().size();
  if (resumed) {
    peer.resume(resumed->run, [&](const std::string& line) {
      std::cerr << "hearsay: damaged, looking for the checkpoint before it: " << line << "\n";
    });
  }
  const auto run = resumed ? open_resumed(*resumed, config, facts, *launcher.rank)
                           : open_run(settings, config, facts, *launcher.rank, path);
  if (!run) return 128 + stop_signal();

  WaitingWords words(config);
  RendezvousPlan plan;
  plan.self = self;
  plan.peers = config.peers;
  plan.start_with = config.start_with != 0 ? config.start_with : config.peers;
  plan.session = facts.session;
  plan.attempt = launcher.attempt;
  if (resumed) plan.least_incarnation = peer.next_incarnation(*run);
  plan.tick = [&](const std::string& line) { return words.tick(line); };
  plan.is_there = [](const Endpoint& address) { return answers(address); };
  auto place = meet_by_files(*run, plan, peer.announced());
  if (!place) return 128 + stop_signal();
  say(config, gossip::peer_name(self) + " of " + std::to_string(config.peers) + " under " +
                  launcher.name + "  " + peer.announced().text() + (place->late ? "  late" : "") +
                  "  ->  " + run->path());
  place->admission.config = config_json(settings).dump();
  place->admission.run = std::filesystem::absolute(run->path()).string();
  const int code = train_unwatched(peer, *run, self, *place, facts, metrics);
  if (peer.displaced())
    throw UsageError(gossip::peer_name(self) + ": " + *peer.displaced() +
                     "; is the job running twice?");
  return code;
}

}  // namespace hearsay::runtime
