// SPDX-License-Identifier: Apache-2.0
// How an input journal begins: which start of which peer it is, and what decides its computations.
// Host-independent, so that a replay makes the same peer again. Decoding takes any bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "gossip/archive.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/host/peer_place.hpp"
#include "runtime/log/run_dir.hpp"

namespace hearsay::runtime {

// A place in the journal of one start: so many entries lie before it.
struct JournalMark {
  std::uint64_t incarnation = 0, entries = 0;
  void state(gossip::Archive& a) { a("incarnation", incarnation)("entries", entries); }
  friend auto operator<=>(const JournalMark&, const JournalMark&) = default;
};

struct JournalHead {
  std::string run, peer, git, blas;
  std::string device;  // "cpu", "cuda:0 NVIDIA H200"; empty in journals of earlier versions
  std::uint64_t incarnation = 0;
  bool late = false;
  std::vector<bool> at_start;
  std::uint64_t written = 0;           // lines about its examples that earlier starts had written
  std::optional<JournalMark> resumes;  // where the checkpoint was taken that it goes on from
  // The options that decide what is computed, as texts; the others of a run do not matter here.
  std::map<std::string, std::string> config;

  nlohmann::ordered_json json() const;
  // Throws UsageError naming `path` when the object is no such head.
  static JournalHead from_json(const std::string& path, const nlohmann::ordered_json& json);
  PeerPlace place() const;
};

std::map<std::string, std::string> computed_config(const RunConfig& config);
// Puts those texts into `config`. Throws UsageError when one of them cannot be read.
void apply_computed_config(const std::map<std::string, std::string>& texts, RunConfig& config);

// RUN/peers/<peer>/inputs.<incarnation>.bin
std::string journal_path(const RunDir& run, std::string_view peer, std::uint64_t incarnation);

}  // namespace hearsay::runtime
