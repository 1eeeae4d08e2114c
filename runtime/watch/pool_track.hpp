// SPDX-License-Identifier: Apache-2.0
// From lines of event logs to the state of a pool: the same numbers that its peers would tell, as
// far as a log holds them. Samples, loss and progress move at the end of a block, as that is when
// they are logged. Unknown events and keys are passed over; a line that cannot be read is counted.
// Pure but for the pool that it writes to; lane: the viewer's; cost: one JSON parse a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "runtime/watch/watched_pool.hpp"

namespace hearsay::runtime {

class PoolTrack {
 public:
  explicit PoolTrack(WatchedPool& pool) : pool_(pool) {}

  void set_epochs(double budget) { epochs_ = budget; }  // of each peer, for its own count of them
  void take(std::string_view line);
  void begin_anew(const std::string& peer);  // its log has been replaced
  // What a result or a process list says of a peer that has not said goodbye itself.
  void end_peer(const std::string& peer, bool well, const std::string& how);
  // Processes of peers that have not ended, by name.
  std::map<std::string, int> running_on(const std::string& host) const;
  std::size_t unreadable_lines() const noexcept { return unreadable_; }

 private:
  static constexpr std::size_t kMostPeers = 4096;
  using Json = nlohmann::ordered_json;

  struct Track {
    std::uint64_t steps = 0, budget_steps = 0;
    double started_s = 0.0;  // wall clock of its newest start; 0 = unknown
    double newest_s = 0.0;   // its own clock
    double lost_at_s = -1.0;
    bool has_joined = false;
    std::string host;
  };
  struct At {  // a peer and what is known of it
    PeerView* view = nullptr;
    LossHistory* losses = nullptr;
    Track* track = nullptr;
    double now_s = 0.0;  // on the pool's clock
  };

  void take_header(const Json& line);
  void take_event(std::string_view ev, const Json& line, const At& at);
  void joined(const Json& line, const At& at);
  void block_finished(const Json& line, const At& at);
  void merge_decided(const Json& line, const At& at);
  void left(const std::string& reason, const At& at);
  void lost(const Json& line, const At& noticed_by);
  void alive_again(const At& at);
  At find(const std::string& peer);
  double clock_offset_s(const Track& track) const;
  void count_live();

  WatchedPool& pool_;
  std::map<std::string, Track> tracks_;  // the same peers as in the snapshot
  double epochs_ = 0.0;
  double first_start_s_ = 0.0;  // the least of all tracks' started_s
  std::size_t unreadable_ = 0;
};

}  // namespace hearsay::runtime
