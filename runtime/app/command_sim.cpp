// SPDX-License-Identifier: Apache-2.0
// hearsay sim: a whole pool in one process. Configuration in, run directory out.
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>

#include "kernels/core/errc.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/pool_end.hpp"
#include "runtime/app/progress.hpp"
#include "runtime/app/result_json.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/config.hpp"
#include "runtime/host/export_model.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/sim/simulation.hpp"

namespace hearsay::runtime {
namespace {

class LogSink final : public EventSink {
 public:
  explicit LogSink(EventWriter& writer) : writer_(writer) {}
  void write(gossip::Time t, std::string_view peer, const gossip::Event& event) override {
    writer_.write(t, peer, event);
  }

 private:
  EventWriter& writer_;
};

RunFacts facts_of(const Simulation& simulation) {
  return {"sim",
          "sim",
          "virtual",
          simulation.threads(),
          simulation.data_digest(),
          simulation.layout().size()};
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
  const RunDir dir = begin_run(settings, config, facts_of(simulation));
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
    writer.write_header(header_event(dir, config, facts_of(simulation)));
    LogSink sink(writer);
    result = simulation.run(sink, std::move(hooks));
    if (stop_signal() == SIGTERM) result.exit_code = 143;
    gossip::Event finished("run.finished");
    finished.add("verdict", result.verdict).add("reason", result.reason);
    const auto end = gossip::Time(static_cast<std::int64_t>(result.virtual_s.value_or(0.0) * 1e9));
    writer.write(end, "pool", finished);
    writer.close();
  } catch (const kernels::Fault&) {
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
