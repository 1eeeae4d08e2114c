// SPDX-License-Identifier: Apache-2.0
// What every run says about itself: run.json, and the first line of event logs. Made once, by
// whoever makes the run directory (run.json) or the log (header).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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
  std::string session{};  // of a job whose peers find each other by files
};

nlohmann::ordered_json run_json(const RunDir& run, const Settings& settings,
                                const RunConfig& config, const RunFacts& facts);

// The event run.started: of a pool's log, or with a peer, of that peer's own log.
gossip::Event header_event(const RunDir& run, const RunConfig& config, const RunFacts& facts,
                           std::optional<gossip::PeerId> peer = std::nullopt);

}  // namespace hearsay::runtime
