// SPDX-License-Identifier: Apache-2.0
// Watches the peers of a live pool from start to end: lets them begin when all are ready, shows how
// it goes, carries out --chaos, --target and --time, starts the dead again (--restarts), passes a
// stop on, and ends what does not end by itself. A peer that dies is an event, not an error; the
// verdict is made by others, from the ending. Lane: the caller's thread, one poll loop; nothing
// here waits longer than kTick.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"
#include "runtime/launch/collect.hpp"
#include "runtime/launch/pool_display.hpp"
#include "runtime/launch/watched_peer.hpp"
#include "runtime/sim/faults.hpp"

namespace hearsay::runtime {

// Faults of a live pool. Throws UsageError for those that only a simulation can do.
std::vector<Fault> parse_live_faults(const RunConfig& config);

// How long a pool is waited for.
struct Patience {
  std::chrono::milliseconds stop{10'000},  // from a stop to SIGKILL
      busy_stop{60'000},  // the same, while no signal asked for the stop and the peer computes
      idle{5'000},        // without processor time: it does not compute
      silence{10'000},    // without a word: the others do not wait for it
      settled{10'000},    // from when nobody trains, and none more ends, to a stop
      restart{500};       // from a peer's death to its new start; doubles each time, at most 10 s
};

// A peer that did not end well.
struct PeerDeath {
  double at_s = 0.0;  // since the watcher began
  std::string peer, host, how;
  std::string last{};  // event before it was started again; empty: its log still ends with it
};

class PoolWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // `stop_signal`: 0, or the signal that this process got. `peers` in id order.
  PoolWatch(const RunConfig& config, std::vector<std::unique_ptr<WatchedPeer>> peers,
            PoolDisplay& display, std::function<int()> stop_signal, Patience patience = {});

  struct NotReady {  // a peer could not begin, so nobody did
    int exit_code = 0;
    std::string line;  // for people; empty when a signal ended the waiting
  };
  // Until every peer listens. On failure all others have been ended.
  std::optional<NotReady> gather();
  // Lets them begin and returns when no process is left.
  PoolEnding watch(const std::string& run);
  void ask_for_checkpoints() { signal_all(SIGUSR1); }                        // of all who run
  const std::vector<PeerDeath>& deaths() const noexcept { return deaths_; }  // in order of time

 private:
  struct Watched {
    std::unique_ptr<WatchedPeer> process;
    std::string address;  // once it is ready
    PeerView view;
    bool told_end = false, exit_seen = false;
    bool disobedient = false;                      // killed, as it did not stop
    Clock::time_point heard_at{};                  // its newest message
    Clock::time_point looked_at{}, computed_at{};  // once it is to stop: whether it still computes
    double cpu_s = 0.0;                            // at looked_at
    std::uint32_t starts_again = 0;                // so far
    std::optional<Clock::time_point> restart_at;   // it has died, and is to be started again
    bool waits_for_start = false;                  // it has been, and will be told to train
    double slow_factor = 1.0;
    std::vector<control::Hostile> hostile;  // what it has been told to do to the others
  };

  void poll_once();
  void take_messages(Watched& peer);
  void see_exit(Watched& peer);
  bool may_start_again(const Watched& peer) const;
  void start_again(Watched& peer);
  void let_begin(Watched& peer);
  bool others_run(const Watched& peer) const;
  std::optional<NotReady> first_that_ended();
  void end_all();
  void send_all(const control::ToPeer& order);
  void signal_all(int number);
  void carry_out_faults();
  void apply(const FaultSchedule::Change& change);
  void make_hostile(Watched& peer, control::Hostile order);
  void check_target();
  void judge_target();
  void check_ends();
  void stop(const std::string& reason);
  void show(bool now);
  bool running() const;
  bool nobody_trains() const;
  void end_disobedient(Clock::time_point now);
  double mean_progress() const;
  double since_start_s() const;  // since the first mini-batch of any peer
  double wall_s() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  std::uint32_t live() const;
  PoolEnding ending() const;

  RunConfig config_;
  Patience patience_;
  std::vector<Watched> peers_;
  PoolDisplay& display_;
  std::function<int()> stop_signal_;
  FaultSchedule faults_;
  Clock::time_point begun_, shown_{};
  std::optional<Clock::time_point> trained_since_, stopped_at_, settled_since_;
  std::vector<PeerDeath> deaths_;
  std::vector<std::string> missed_faults_;  // whose peer had ended before
  std::vector<bool> stalled_;
  std::set<std::string> told_;       // "p03 lost"
  double next_target_check_ = 0.25;  // epochs of mean progress
  std::uint64_t evaluation_round_ = 0;
  bool evaluating_ = false;  // this round's answers are not all in
  PoolNow now_;
  std::optional<double> target_reached_s_;
  bool started_ = false;
  std::ptrdiff_t ended_ = 0;  // peers that said so
  std::string run_;
};

}  // namespace hearsay::runtime
