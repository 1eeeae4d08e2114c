// SPDX-License-Identifier: Apache-2.0
// Weights on their way between the peers of a replay. A peer asks for what its journal says it got
// and waits until the sender's replay has made it; what nobody has got is not kept. Invariant: a
// wait ends, because weights come from senders that are further back in causal order, and where a
// journal is damaged nobody is waited for who cannot go on. Any thread.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "gossip/frame.hpp"
#include "runtime/replay/turnstile.hpp"

namespace hearsay::runtime {

struct FrameKey {
  std::uint32_t from = 0, to = 0;
  gossip::FrameKind kind{};
  std::uint64_t seq = 0;
  std::uint32_t slice = 0;
  friend auto operator<=>(const FrameKey&, const FrameKey&) = default;
};
FrameKey key_of(const gossip::Frame& frame);
std::string text_of(const FrameKey& key);

class FrameStore {
 public:
  FrameStore(std::size_t peers, Turnstile& turnstile) : running_(peers), turnstile_(turnstile) {}

  // Before the replay: somebody will ask for it.
  void expect(const FrameKey& key) { ++expected_[key].wanted; }
  void put(const gossip::Frame& frame);
  // Waits, and gives the frame its weights, as they are or in the codec of its sender. False when
  // its sender has ended, or everybody waits, without making them.
  bool give(gossip::Frame& frame);
  // The peer makes no more frames.
  void end(std::uint32_t peer);
  void stop();  // all waits end

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // A ring's slice travels twice a step under one key: first come, first served, as on a
  // connection.
  struct Weights {  // one of the two
    merge::SnapshotRef values;
    merge::PackedRef packed;
  };
  struct Slot {
    std::size_t wanted = 0;  // by receivers that have not got it yet
    std::deque<Weights> made;
  };
  std::map<FrameKey, Slot> expected_;
  std::set<FrameKey> awaited_;  // whose receivers wait
  std::size_t running_;
  std::set<std::uint32_t> ended_;
  bool stuck_ = false;  // everybody waits: only where something is missing from a journal
  Turnstile& turnstile_;

  void look_whether_stuck();
};

}  // namespace hearsay::runtime
