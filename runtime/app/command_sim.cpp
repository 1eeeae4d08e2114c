// SPDX-License-Identifier: Apache-2.0
// hearsay sim: a whole pool in one process. Configuration in, run directory out.
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>

#include "kernels/core/errc.hpp"
#include "kernels/ops/gemm.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/command_study.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/progress.hpp"
#include "runtime/app/result_json.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/sim_record.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/config.hpp"
#include "runtime/host/export_model.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/event_reader.hpp"
#include "runtime/log/invariants.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/sim/simulation.hpp"

namespace hearsay::runtime {
namespace {

// Flags of a resumed run that leave its history as it is.
const std::vector<std::string_view> kMayChange{"threads", "device", "min-peers",
                                               "checkpoint-every"};
// Verdicts of runs that are not at their end.
const std::vector<std::string_view> kUnfinished{"interrupted", "log failed", "model not exported"};

// What is resumed: the run, and where it goes on.
struct Earlier {
  RunDir run;
  LoadedCheckpoint checkpoint;
};

RunFacts facts_of(const Simulation& simulation) {
  return {"sim",
          "sim",
          "virtual",
          simulation.threads(),
          simulation.data_digest(),
          simulation.layout().size(),
          simulation.device()};
}

int print_sizes(const Simulation& simulation, const RunConfig& config) {
  const Simulation::Sizes s = simulation.sizes();
  const double model_bytes = 4.0 * static_cast<double>(s.parameters);
  std::cout << "model     " << s.parameters << " parameters, " << human_bytes(model_bytes) << "\n"
            << "data      " << s.examples << " training examples, shards of " << s.smallest_shard
            << " to " << s.largest_shard << "; " << s.test_examples << " test examples\n"
            << "training  " << config.peers << " peers x " << config.epochs << " epochs x up to "
            << s.steps_per_epoch << " mini-batches of " << config.batch << "\n"
            << "a merge   " << (config.codec.name == "raw" ? "" : "at most ")
            << human_bytes(static_cast<double>(s.most_message_bytes) + 64.0)
            << " each way (header of 64 B included)\n"
            << "memory    " << human_bytes(static_cast<double>(s.bytes_a_peer)) << " a peer, "
            << human_bytes(static_cast<double>(s.bytes_a_peer) * config.peers) << " for all\n"
            << "dry run: nothing was trained or written\n";
  return 0;
}

// Everything is read, and fits, before anything is changed.
Earlier load_earlier(const RunDir& run, const RunRecord& record, Simulation& simulation) {
  if (record.data_digest && *record.data_digest != simulation.data_digest()) {
    throw kernels::UsageError("--resume: the data are not those of the run in " + run.path() +
                              " (digest " + simulation.data_digest() + ", then " +
                              *record.data_digest + "); give it the same files");
  }
  const std::string blas = kernels::blas_description() + ", 1 thread a peer";
  if (record.blas != blas) {
    std::cerr << "hearsay: the run was begun with " << record.blas << ", this is " << blas
              << ": from here on it need not be bit for bit what it would have been\n";
  }
  if (record.device != simulation.device()) {
    std::cerr << "hearsay: the run was begun on " << record.device << ", this is "
              << simulation.device()
              << ": from here on it need not be bit for bit what it would have been\n";
  }
  Earlier earlier{run, newest_checkpoint(run)};
  simulation.resume(earlier.checkpoint);
  return earlier;
}

// --check: what holds for every log holds for this one, or the run has failed.
void judge_log(const RunDir& dir, PoolResult& result) {
  const Breaches broken = broken_invariants(read_events(dir.events_jsonl()).events);
  if (broken.empty()) return;
  result.reason += (result.reason.empty() ? "" : "; ") + broken.front() +
                   (broken.size() > 1 ? " and " + std::to_string(broken.size() - 1) + " more" : "");
  result.verdict = "invariant broken";
  result.exit_code = static_cast<int>(kernels::ExitCode::check_failed);
}

int run_and_report(const RunConfig& config, const Settings& settings, Simulation& simulation,
                   const Earlier* earlier) {
  const RunDir dir = earlier ? earlier->run : begin_run(settings, config, facts_of(simulation));
  if (!config.quiet) {
    std::cerr << "hearsay " << version_number() << "  " << config.peers << " peers, " << config.data
              << ", " << config.split << ", " << simulation.layout().size() << " parameters, "
              << config.protocol.text << ", " << simulation.device() << ", " << simulation.threads()
              << " threads, BLAS 1 thread a peer  ->  " << dir.path() << "\n";
    if (earlier) std::cerr << "goes on from " << earlier->checkpoint.path << "\n";
  }
  catch_stop_signals();
  ProgressPrinter printer(config.peers, config.quiet);
  SimHooks hooks;
  hooks.progress = [&](const std::function<SimProgress()>& numbers) { printer.tick(numbers); };
  hooks.notice = [&](gossip::Time t, const std::string& line) { printer.notice(t, line); };
  hooks.interrupted = [] { return stop_signal() != 0; };

  PoolResult result;
  try {
    const auto record = earlier ? std::make_unique<SimRecord>(dir, config, earlier->checkpoint)
                                : std::make_unique<SimRecord>(
                                      dir, config, header_event(dir, config, facts_of(simulation)));
    hooks.checkpoint_due = [&] { return record->checkpoint_due(); };
    hooks.checkpoint = [&] { record->checkpoint(simulation); };
    result = simulation.run(*record, std::move(hooks));
    if (stop_signal() == SIGTERM) result.exit_code = 143;
    gossip::Event finished("run.finished");
    finished.add("verdict", result.verdict).add("reason", result.reason);
    const auto end = gossip::Time(static_cast<std::int64_t>(result.virtual_s.value_or(0.0) * 1e9));
    record->write(end, "pool", finished);
    record->close();
    if (config.check) judge_log(dir, result);
  } catch (const kernels::Fault& fault) {
    // A log that cannot be taken up (another process writes it) was not touched.
    if (earlier && fault.code() != kernels::ExitCode::check_failed) throw;
    // The log could not be kept, so the run is worth nothing as a record: stop, and leave a verdict
    // if there is room.
    nlohmann::ordered_json verdict;
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
    export_pool_model(dir, simulation.exported_model(), result, version_number());
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
    std::cerr << "hearsay: " << result.verdict << ": " << result.reason;
    if (stop_signal() != 0)
      std::cerr << "; go on with: hearsay sim --run " << dir.path() << " --resume";
    std::cerr << "\n";
  }
  return result.exit_code;
}

std::unique_ptr<Simulation> make_simulation(const RunConfig& config, const Settings& settings) {
  std::unique_ptr<Simulation> simulation;
  with_origins(settings, [&] {
    check_names(config);
    build_pool_plan(config);  // refuses before the data is read
    simulation = std::make_unique<Simulation>(config, load_dataset(config.data, config.seed));
  });
  if (!simulation->device_note().empty())
    std::cerr << "hearsay: " << simulation->device_note() << "\n";
  return simulation;
}

int resume(const Arguments& arguments, const std::string& path) {
  const RunDir run = RunDir::open(path);
  const RunRecord record = read_run_record(run);
  if (record.command != "sim") {
    throw kernels::UsageError("--resume: the run in " + run.path() + " was made by hearsay " +
                              record.command + "; resume it with that");
  }
  const Settings settings =
      resume_settings(arguments, process_environment(), run.path(), run.run_json(), kMayChange);
  RunConfig config = typed_config(settings);
  // `auto` goes on where it began, also on a machine that has a GPU now.
  if (config.device == "auto" && record.device == "cpu") config.device = "cpu";
  refuse_complete(run, kUnfinished);
  if (CheckpointStore(run.checkpoints()).numbers().empty()) newest_checkpoint(run);  // says so
  const auto simulation = make_simulation(config, settings);
  const Earlier earlier = load_earlier(run, record, *simulation);
  if (config.dry_run) return print_sizes(*simulation, config);
  return run_and_report(config, settings, *simulation, &earlier);
}

}  // namespace

int command_sim(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = sim_syntax();
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  if (const auto study = arguments.value("study")) return run_study(arguments, *study);
  catch_checkpoint_signal();  // one that comes early is served at the first event
  const Settings settings = merge_settings(arguments, process_environment());
  if (parse_boolean("--resume", settings.text("resume")) && !settings.text("run").empty())
    return resume(arguments, settings.text("run"));
  const RunConfig config = typed_config(settings);
  const auto simulation = make_simulation(config, settings);
  if (config.dry_run) return print_sizes(*simulation, config);
  return run_and_report(config, settings, *simulation, nullptr);
}

}  // namespace hearsay::runtime
