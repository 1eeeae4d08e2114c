// SPDX-License-Identifier: Apache-2.0
// What every run says about itself: run.json, and the first line of event logs. Made once, by
// whoever makes the run directory (run.json) or the log (header).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gossip/event.hpp"
#include "runtime/config/config.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

// What differs from command to command.
struct RunFacts {
  std::string_view command;                // "sim", "launch", "train"
  std::string_view launcher;               // "sim", "hearsay", "openmpi", "by hand", ...
  std::string_view clock;                  // "virtual" or "monotonic"
  std::optional<std::size_t> threads;      // of a simulation
  std::optional<std::string> data_digest;  // where whoever writes has read the data
  std::optional<std::size_t> parameters;
  std::string device{};   // where this process trains; a launcher does not
  std::string session{};  // of a job whose peers find each other by files
};

nlohmann::ordered_json run_json(const RunDir& run, const Settings& settings,
                                const RunConfig& config, const RunFacts& facts);

// What run.json says of a run that is to be resumed. Throws UsageError.
struct RunRecord {
  std::string command, blas;
  std::string device;  // of a simulation: "cpu", "cuda:0 NVIDIA H200"
  std::optional<std::string> data_digest;
  nlohmann::ordered_json json;  // all of it
};
RunRecord read_run_record(const RunDir& run);

// Refuses to resume a run that has come to its end: throws UsageError. `unfinished` are verdicts
// after which something is left to do; so it is when there is no result.json (yet).
void refuse_complete(const RunDir& run, const std::vector<std::string_view>& unfinished);

// The event run.started: of a pool's log, or with a peer, of that peer's own log.
gossip::Event header_event(const RunDir& run, const RunConfig& config, const RunFacts& facts,
                           std::optional<gossip::PeerId> peer = std::nullopt);

}  // namespace hearsay::runtime
