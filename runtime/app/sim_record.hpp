// SPDX-License-Identifier: Apache-2.0
// What a simulation leaves while it runs: its event log, and checkpoints of the whole pool in
// RUN/ckpt, by time, by SIGUSR1, and before a stop takes effect. A checkpoint that cannot be
// written is said once and the run goes on; a log that cannot be kept ends it (Fault). Lane: that
// of SimHost::run. Cost: a look at the clock per event; training waits while a checkpoint is
// written.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "runtime/checkpoint/checkpoint_store.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/log/event_writer.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/sim/simulation.hpp"

namespace hearsay::runtime {

class SimRecord final : public EventSink {
 public:
  SimRecord(const RunDir& run, const RunConfig& config, const gossip::Event& header);  // a new run
  // Goes on with one, from a checkpoint: what came after it is cut off, and results of the end
  // that it had are taken away.
  SimRecord(const RunDir& run, const RunConfig& config, const LoadedCheckpoint& from);

  void write(gossip::Time t, std::string_view peer, const gossip::Event& event) override {
    writer_.write(t, peer, event);
  }
  bool checkpoint_due();
  void checkpoint(Simulation& simulation);
  void close() { writer_.close(); }

 private:
  CheckpointStore store_;
  EventWriter writer_;
  std::optional<std::chrono::duration<double>> every_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool failing_ = false;
};

// The newest good checkpoint of the run whose log reaches far enough; damaged ones are named on
// stderr. Throws UsageError when there is none, DamagedFile when all are damaged.
LoadedCheckpoint newest_checkpoint(const RunDir& run);

}  // namespace hearsay::runtime
