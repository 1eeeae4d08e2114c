// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/sim_record.hpp"

#include <filesystem>
#include <iostream>

#include "kernels/core/errc.hpp"
#include "runtime/app/signals.hpp"

namespace hearsay::runtime {

namespace fs = std::filesystem;

SimRecord::SimRecord(const RunDir& run, const RunConfig& config, const gossip::Event& header)
    : store_(run.checkpoints()), writer_(run.path()), every_(config.checkpoint_every_s) {
  writer_.write_header(header);
}

SimRecord::SimRecord(const RunDir& run, const RunConfig& config, const LoadedCheckpoint& from)
    : store_(run.checkpoints()),
      writer_(run.path(), log_position(from)),
      every_(config.checkpoint_every_s) {
  std::error_code ignored;
  fs::remove(run.result_json(), ignored);
  fs::remove(run.exported_model(), ignored);
  fs::remove(fs::path(run.exported_model()).replace_filename("model.json"), ignored);
}

bool SimRecord::checkpoint_due() {
  if (take_checkpoint_request()) return true;
  return every_ && std::chrono::steady_clock::now() - last_ >= *every_;
}

void SimRecord::checkpoint(Simulation& simulation) {
  Checkpoint made = simulation.checkpoint();
  keep_log_position(made, writer_.synced_position());
  try {
    store_.write(1, made);
    if (failing_) std::cerr << "hearsay: checkpoints are written again\n";
    failing_ = false;
  } catch (const kernels::Fault& fault) {
    if (!failing_)
      std::cerr << "hearsay: no checkpoint: " << fault.what() << "; the run goes on" << std::endl;
    failing_ = true;
  }
  last_ = std::chrono::steady_clock::now();
}

LoadedCheckpoint newest_checkpoint(const RunDir& run) {
  const auto reaches = [&](const LoadedCheckpoint& from) {
    const std::size_t needed = log_position(from).bytes;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(run.events_jsonl(), error);
    if (!error && bytes >= needed) return;
    throw kernels::DamagedFile(
        run.events_jsonl(), error ? 0 : static_cast<std::size_t>(bytes),
        "the log ends before byte " + std::to_string(needed) + ", where it stood at " + from.path);
  };
  const auto damaged = [](const std::string& line) {
    std::cerr << "hearsay: damaged, looking for the checkpoint before it: " << line << "\n";
  };
  auto found = CheckpointStore(run.checkpoints()).load_newest(damaged, reaches);
  if (!found) {
    throw kernels::UsageError("--resume: nothing to resume in " + run.path() +
                              ": no checkpoint was written; start again with --config " +
                              run.run_json());
  }
  return std::move(*found);
}

}  // namespace hearsay::runtime
