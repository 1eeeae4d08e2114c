// SPDX-License-Identifier: Apache-2.0
// A pool out of its run directory: the event logs of its peers (of a live pool) or the one log (of
// a simulation), run.json, and result.json once that is there. Follows runs that go on, and peers
// that start again; reads ended ones to the end. Whether a peer that has said nothing is still
// there is asked of the kernel, for peers of this machine. Lane: the viewer's. Cost of a look
// without news: a few system calls a peer.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/log/run_dir.hpp"
#include "runtime/watch/log_tail.hpp"
#include "runtime/watch/pool_track.hpp"
#include "runtime/watch/watched_pool.hpp"

namespace hearsay::runtime {

class RunFolder final : public PoolSource {
 public:
  // Throws UsageError when there is no such folder, or it is no run.
  RunFolder(const std::string& path, WatchedPool& pool);

  bool look() override;
  std::string name() const override { return run_.path(); }

 private:
  using FileTime = std::filesystem::file_time_type;

  void read_run_json();
  bool read_logs();
  bool read_log(const std::string& peer, LogTail& log);
  void read_result();
  void forget_all();
  void end_the_vanished(const std::map<std::string, int>& before);
  std::optional<FileTime> newest_log() const;

  RunDir run_;
  WatchedPool& pool_;
  std::optional<PoolTrack> track_;  // always there
  std::string host_;
  bool is_simulation_ = false;
  std::map<std::string, LogTail> logs_;  // by peer; of a simulation one, without a name
  std::optional<FileTime> result_read_;
  std::optional<std::chrono::steady_clock::time_point> nobody_since_;
};

}  // namespace hearsay::runtime
