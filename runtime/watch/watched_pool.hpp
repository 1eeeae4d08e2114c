// SPDX-License-Identifier: Apache-2.0
// A pool as its viewer knows it, whatever that was learnt from: a run's logs or a metrics endpoint.
// Plain data and the interface of what fills it. Lane: the viewer's.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/loss_history.hpp"
#include "runtime/metrics/pool_snapshot.hpp"
#include "runtime/watch/merge_trail.hpp"

namespace hearsay::runtime {

struct PoolChange {
  double at_s = 0.0;  // run clock
  std::string text;   // "p01 lost (connection lost, noticed by p00)"
};

struct WatchedPool {
  static constexpr std::size_t kMostChanges = 100;

  PoolSnapshot snapshot;            // peers in the order of their names
  std::vector<LossHistory> losses;  // one a peer
  MergeTrail merges;
  std::deque<PoolChange> changes;  // the newest
  std::size_t changes_so_far = 0;  // those that have been dropped included
  std::string verdict;             // once the run has ended
  std::string trouble;             // why there is nothing, or nothing new; empty when all is well
  bool is_waiting = false;         // the trouble may pass
  bool has_virtual_clock = false;

  std::string trouble_text() const {
    return trouble + (!trouble.empty() && is_waiting ? "; waiting for it" : "");
  }
  void add_change(double at_s, std::string text) {
    changes.push_back({at_s, std::move(text)});
    if (changes.size() > kMostChanges) changes.pop_front();
    ++changes_so_far;
  }
};

class PoolSource {
 public:
  virtual ~PoolSource() = default;
  // Brings its pool up to date; true when there is more to be had at once. Waits for a second at
  // most. Throws a Fault for what will not get better by asking again.
  virtual bool look() = 0;
  virtual std::string name() const = 0;  // "runs/x", "127.0.0.1:9464"
};

}  // namespace hearsay::runtime
