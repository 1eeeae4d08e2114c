// SPDX-License-Identifier: Apache-2.0
// A run is a directory. RunDir makes it with one mkdir, so of two runs that want the same name one
// gets it, and knows where each file of a run lies. `latest` beside the run points to the newest
// one. Lane: log. Cost: a few system calls at start.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hearsay::runtime {

class RunDir {
 public:
  // Makes `path` (and missing folders above it). Throws UsageError when it exists or cannot be
  // made.
  static RunDir create(const std::string& path);
  // Makes `<parent>/<default_run_name>`, with -2, -3, ... behind it while the name is taken.
  static RunDir create_default(const std::string& parent, std::string_view preset,
                               std::uint64_t seed, std::chrono::system_clock::time_point now);
  // An existing run, or where this machine does not see it, a new one of the same path.
  static RunDir open_or_create(const std::string& path);
  // An existing run; a link such as `latest` is followed. Throws UsageError when it is no folder.
  static RunDir open(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  std::string name() const { return path_.substr(path_.find_last_of('/') + 1); }
  std::string run_json() const { return path_ + "/run.json"; }
  std::string result_json() const { return path_ + "/result.json"; }
  std::string events_jsonl() const { return path_ + "/events.jsonl"; }
  std::string checkpoints() const { return path_ + "/ckpt"; }  // of a simulation: a folder
  std::string exported_model() const { return path_ + "/export/model.safetensors"; }
  // exported_model(), with its folder made when it is missing. Throws UsageError when that fails.
  std::string prepare_exported_model() const;

  // What one peer of a live pool leaves, under its name ("p03").
  std::string peer_dir(std::string_view peer) const;
  std::string peer_endpoint(std::string_view peer) const;     // address, pid, host
  std::string peer_events(std::string_view peer) const;       // its own event log
  std::string peer_stderr(std::string_view peer) const;       // what it printed
  std::string peer_result(std::string_view peer) const;       // host/peer_files.hpp
  std::string peer_checkpoints(std::string_view peer) const;  // a folder
  // peer_dir(), made when it is missing. Throws UsageError when that fails.
  std::string prepare_peer_dir(std::string_view peer) const;

 private:
  explicit RunDir(std::string path) : path_(std::move(path)) {}

  std::string path_;  // without a slash at the end
};

// "digits-s0-20260102-101500", in local time.
std::string default_run_name(std::string_view preset, std::uint64_t seed,
                             std::chrono::system_clock::time_point now);

}  // namespace hearsay::runtime
