// SPDX-License-Identifier: Apache-2.0
// hearsay sim: a whole pool in one process. Configuration in, run directory out.
#include <chrono>
#include <csignal>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>

#include <unistd.h>

#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/progress.hpp"
#include "runtime/app/result_json.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/config.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/log/safetensors.hpp"
#include "runtime/sim/simulation.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

class LogSink final : public EventSink {
 public:
  explicit LogSink(EventWriter& writer) : writer_(writer) {}
  void write(gossip::Time t, std::string_view peer, const gossip::Event& event) override {
    writer_.write(t, peer, event);
  }

 private:
  EventWriter& writer_;
};

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string host_name() {
  char text[256] = {};
  return gethostname(text, sizeof text - 1) == 0 ? text : "unknown";
}

Json run_json(const RunDir& dir, const Settings& settings, const RunConfig& config,
              const Simulation& simulation) {
  Json j;
  j["schema"] = kEventSchema;
  j["run"] = base_name(dir.path());
  j["started"] = utc_now();
  j["version"] = version_number();
  j["git"] = git_commit();
  j["build"] = build_text();
  j["command"] = "sim";
  j["clock"] = "virtual";
  j["hosts"] = {host_name()};
  j["launcher"] = "sim";
  j["seed"] = config.seed;
  j["peers"] = config.peers;
  j["threads"] = simulation.threads();
  j["blas"] = kernels::blas_description() + ", 1 thread a peer";
  j["data_digest"] = simulation.data_digest();
  j["parameters"] = simulation.layout().size();
  j["config"] = config_json(settings);
  return j;
}

gossip::Event header_event(const RunDir& dir, const RunConfig& config) {
  gossip::Event event("run.started");
  event.add("run", base_name(dir.path())).add("time", utc_now()).add("seed", config.seed);
  event.add("git", git_commit()).add("clock", std::string("virtual"));
  event.add("peers", std::int64_t{config.peers}).add("launcher", std::string("sim"));
  return std::move(
      event.add("blas", kernels::blas_description()).add("device", std::string("cpu")));
}

void export_model(const RunDir& dir, const Simulation& simulation, const PoolResult& result) {
  const std::vector<float> weights = simulation.exported_model();
  if (weights.empty()) return;  // nobody alive
  std::uint64_t samples = 0;
  std::string parents;
  Json peers = Json::array();
  for (const PeerResult& peer : result.peers) {
    if (!peer.alive) continue;
    samples += peer.counters.samples;
    parents += (parents.empty() ? "" : ",") + peer.name + ":" +
               std::to_string(peer.counters.merges_applied);
    peers.push_back(peer.name);
  }
  const std::string input = "byte / 255, row by row";
  write_safetensors(dir.prepare_exported_model(), simulation.layout(), weights,
                    {{"format", "pt"},
                     {"hearsay.run", base_name(dir.path())},
                     {"hearsay.peer", "pool"},
                     {"hearsay.version", version_number()},
                     {"hearsay.samples", std::to_string(samples)},
                     {"hearsay.parents", parents},
                     {"hearsay.input", input}});
  Json j;
  j["rule"] = simulation.export_rule();
  j["peers"] = peers;
  j["input"] = input;
  j["test_acc"] = result.test_acc_averaged_model;
  j["digest"] = kernels::digest(weights).hex();
  const std::string path = dir.exported_model();
  write_file_atomically(path.substr(0, path.find_last_of('/')) + "/model.json", j.dump(2) + "\n");
}

int print_sizes(const Simulation& simulation, const RunConfig& config) {
  const Simulation::Sizes s = simulation.sizes();
  const double model_bytes = 4.0 * static_cast<double>(s.parameters);
  std::cout << "model     " << s.parameters << " parameters, " << human_bytes(model_bytes) << "\n"
            << "data      " << s.examples << " training examples, shards of " << s.smallest_shard
            << " to " << s.largest_shard << "; " << s.test_examples << " test examples\n"
            << "training  " << config.peers << " peers x " << config.epochs << " epochs x up to "
            << s.steps_per_epoch << " mini-batches of " << config.batch << "\n"
            << "a merge   " << human_bytes(model_bytes + 64.0)
            << " each way (header of 64 B included)\n"
            << "memory    " << human_bytes(static_cast<double>(s.bytes_a_peer)) << " a peer, "
            << human_bytes(static_cast<double>(s.bytes_a_peer) * config.peers) << " for all\n"
            << "dry run: nothing was trained or written\n";
  return 0;
}

int run_and_report(const RunConfig& config, const Settings& settings, Simulation& simulation) {
  const RunDir dir = config.run_dir.empty()
                         ? RunDir::create_default("runs", config.preset, config.seed,
                                                  std::chrono::system_clock::now())
                         : RunDir::create(config.run_dir);
  try {
    write_file_atomically(dir.run_json(),
                          run_json(dir, settings, config, simulation).dump(2) + "\n");
  } catch (const kernels::Fault& fault) {
    rmdir(dir.path()
              .c_str());  // empty: nothing was trained, and the name stays free for the next try
    throw kernels::UsageError(fault.what());
  }
  if (!config.quiet) {
    std::cerr << "hearsay " << version_number() << "  " << config.peers << " peers, " << config.data
              << ", " << config.split << ", " << simulation.layout().size() << " parameters, "
              << config.protocol.text << ", " << simulation.threads()
              << " threads, BLAS 1 thread a peer  ->  " << dir.path() << "\n";
  }
  catch_stop_signals();
  ProgressPrinter printer(config.peers, config.quiet);
  SimHooks hooks;
  hooks.progress = [&](const std::function<SimProgress()>& numbers) { printer.tick(numbers); };
  hooks.notice = [&](gossip::Time t, const std::string& line) { printer.notice(t, line); };
  hooks.interrupted = [] { return stop_signal() != 0; };

  PoolResult result;
  try {
    EventWriter writer(dir.path());
    writer.write_header(header_event(dir, config));
    LogSink sink(writer);
    result = simulation.run(sink, std::move(hooks));
    if (stop_signal() == SIGTERM) result.exit_code = 143;
    gossip::Event finished("run.finished");
    finished.add("verdict", result.verdict).add("reason", result.reason);
    writer.write(gossip::Time(static_cast<std::int64_t>(result.virtual_s * 1e9)), "pool", finished);
    writer.close();
  } catch (const kernels::Fault&) {
    // The log could not be kept, so the run is worth nothing as a record: stop, and leave a verdict
    // if there is room.
    Json verdict;
    verdict["verdict"] = "log failed";
    verdict["exit_code"] = static_cast<int>(kernels::ExitCode::check_failed);
    try {
      write_file_atomically(dir.result_json(), verdict.dump(2) + "\n");
    } catch (const kernels::Fault&) {  // no room for that either; the line on stderr says it all
    }
    throw;
  }
  std::optional<kernels::Fault> export_fault;
  try {
    export_model(dir, simulation, result);
  } catch (const kernels::Fault& fault) {  // the numbers are still worth keeping
    export_fault = fault;
    result.verdict = "model not exported";
    result.reason = fault.what();
    result.exit_code = static_cast<int>(kernels::ExitCode::check_failed);
  }
  write_file_atomically(dir.result_json(), result_json(result).dump(2) + "\n");
  if (export_fault) throw *export_fault;
  if (config.json) {
    std::cout << result_json(result).dump(2) << "\n";
  } else {
    std::cout << closing_block(result, config, dir.path());
  }
  if (!result.reason.empty() && result.exit_code != 0) {
    std::cerr << "hearsay: " << result.verdict << ": " << result.reason << "\n";
  }
  return result.exit_code;
}

}  // namespace

int command_sim(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = sim_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const Settings settings = merge_settings(arguments, process_environment());
  const RunConfig config = typed_config(settings);
  std::unique_ptr<Simulation> simulation;
  with_origins(settings, [&] {
    check_names(config);
    build_pool_plan(config);  // refuses before the data is read
    simulation = std::make_unique<Simulation>(config, load_dataset(config.data, config.seed));
  });
  if (config.dry_run) return print_sizes(*simulation, config);
  return run_and_report(config, settings, *simulation);
}

}  // namespace hearsay::runtime
