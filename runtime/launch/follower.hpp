// SPDX-License-Identifier: Apache-2.0
// The supervisor of any rank but 0: passes its peer's words to rank 0 and rank 0's orders to its
// peer, and ends with rank 0's verdict. A stop signal to this process alone stops its own peer; the
// pool goes on without. Invariant: every message but a status reaches rank 0, in order; a status
// gives way to a newer one. Lane: the supervisor's thread. Cost: a short message a second, and a
// status each kTellStatus, which is as often as a peer has one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "runtime/launch/held_output.hpp"
#include "runtime/launch/mpi_link.hpp"
#include "runtime/launch/relay.hpp"
#include "runtime/launch/watched_peer.hpp"

namespace hearsay::runtime {

class Follower {
 public:
  struct Told {                              // what this process itself is told
    std::function<int()> stop_signal;        // 0 = none
    std::function<bool()> checkpoint_asked;  // true once for every request
  };
  Follower(MpiLink& link, WatchedPeer& peer, HeldOutput& output, Told told);

  // One look at both sides, waiting at most kTick; the exit code once the verdict is there.
  std::optional<int> step();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTick{50}, kTellStatus{250}, kTellCpu{1000};
  static constexpr std::chrono::seconds kStopBudget{10};
  void tell(const relay::FromSupervisor& message);
  void hear_peer();
  void obey(const relay::ToSupervisor& order);
  void heed_signals();
  void start_again();

  MpiLink& link_;
  WatchedPeer& peer_;
  HeldOutput& output_;
  Told told_;
  std::optional<PeerStatus> untold_;  // the newest status, until it is its turn
  Clock::time_point told_status_at_{}, told_cpu_at_{};
  std::optional<Clock::time_point> stopped_at_;
  bool told_exit_ = false;
  std::optional<int> verdict_;
};

}  // namespace hearsay::runtime
