// SPDX-License-Identifier: Apache-2.0
// What one peer believes about the others. Kept current by frames (first-hand), by the pulses that
// frames carry (second-hand), by unanswered exchanges, by the transport, and by silence.
//
//   absent    this place of the pool has not been taken yet
//   training, finished   reachable; may be chosen as a partner unless it is being avoided
//   suspected an exchange got no answer, or no sign of life for a while: not chosen, but the end of
//             the run still waits for it
//   gone      the transport or long silence says so; nobody waits for it
//   left      has said goodbye: only a later start of it comes back
//
// First-hand trouble (no answer, no connection) ends with a frame from the peer itself: that others
// hear it does not make it reachable from here. Silence ends with any newer pulse. A higher
// incarnation is another start of the same peer and begins afresh. 24 bytes a peer; in pools of
// more than a thousand only for those that were heard of (sparse_peers.hpp). O(1) updates, O(n) for
// silences, reopen_finished() and lists.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gossip/limits.hpp"
#include "gossip/protocol.hpp"
#include "gossip/pulse.hpp"
#include "gossip/sparse_peers.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::gossip {

class PeerTable {
 public:
  // `at_start`: [peer] who is there when this peer begins; empty = all.
  PeerTable(PeerId self, std::uint32_t peers, std::uint32_t incarnation = 0,
            const std::vector<bool>& at_start = {});

  enum class State : std::uint8_t { absent, training, finished, suspected, gone, left };
  enum class News { none, back, joined, superseded };

  State state(PeerId peer) const { return entries_[peer.value].is; }
  Time last_heard(PeerId peer) const { return entries_[peer.value].last_heard; }
  std::uint32_t incarnation(PeerId peer) const { return entries_[peer.value].incarnation; }
  bool reachable(PeerId peer) const {
    return state(peer) == State::training || state(peer) == State::finished;
  }
  bool may_merge(PeerId peer, Time now) const;

  News heard(PeerId peer, Time now);         // a frame from it came in
  News learn(const Pulse& pulse, Time now);  // superseded: about this peer itself, a later start
  void beat();                               // one heartbeat of this peer
  void say_goodbye();                        // its pulses now say that it has left
  std::vector<Pulse> pulses(std::size_t limit);  // for a frame: the own one, then others in turn

  void finished(PeerId peer);
  void left(PeerId peer);
  bool gone(PeerId peer);  // first-hand; true when that is news

  // An exchange with `peer` ended without answer: suspected, and after the second one in a row not
  // chosen for a while after it is back (doubles from kAvoidFirst to kAvoidMost, with jitter).
  // True when the suspicion is news.
  bool failed(PeerId peer, Time now, kernels::Rng& rng);
  void busy(PeerId peer, Time now, kernels::Rng& rng);  // it refused: not chosen for a short while
  void answered(PeerId peer);                           // clears what failed() and busy() counted

  // Silence: suspected after 5, gone after 20 mean intervals between signs of life. Reports
  // changes.
  struct Change {
    PeerId peer;
    State to;
    Time silence;
  };
  std::vector<Change> silences(Time now);
  void excuse(Time gap);  // this peer itself has slept: nobody was silent meanwhile
  // Unreachable peers that it is time to ask again: waits double from kRetryFirst to kRetryMost.
  std::vector<PeerId> retries(Time now, kernels::Rng& rng);

  void reopen_finished();  // an end game begins: who has finished will finish once more

  std::size_t out_of_reach() const noexcept {
    return out_of_reach_;
  }  // neither training nor finished
  std::size_t avoided() const noexcept {
    return troubles_.size();
  }                                        // bounds those in reach that are
  std::uint32_t present() const noexcept;  // places taken, the own included
  // Nobody is left who may still train: everyone else has finished, left, is gone or never came.
  bool all_settled() const noexcept { return unsettled_ == 0; }
  std::vector<PeerId> in_state(State wanted) const;
  void state(Archive& archive);

 private:
  struct Entry {
    State is = State::training;
    bool by_silence = false;  // why it is suspected or gone
    float interval_s =
        std::chrono::duration<float>(limits::kBeat).count();  // mean time between signs of life
    std::uint32_t incarnation = 0, beat = 0;
    Time last_heard{0};
    void state(Archive& a) {
      a("is", is)("by_silence", by_silence)("interval_s", interval_s);
      a("incarnation", incarnation)("beat", beat)("last_heard", last_heard);
    }
  };
  struct Trouble {  // kept for few
    std::uint32_t failures = 0, refusals = 0;
    Time avoid_until{0}, retry_at{0}, retry_wait{0};
    void state(Archive& a) {
      a("failures", failures)("refusals", refusals)("avoid_until", avoid_until);
      a("retry_at", retry_at)("retry_wait", retry_wait);
    }
  };
  void move(PeerId peer, State to);
  void sign_of_life(Entry& entry, Time now);
  News begin_again(PeerId peer, const Pulse& pulse, Time now);
  double expected_interval_s(const Entry& entry) const;
  void count();
  std::optional<Change> silence(std::uint32_t peer, Time now);

  PeerId self_;
  SparsePeers<Entry> entries_;
  std::map<std::uint32_t, Trouble> troubles_;  // [peer]
  std::uint32_t next_pulse_ = 0;               // whose pulse is due to be passed on
  std::size_t unsettled_ = 0, out_of_reach_ = 0, absent_ = 0;
};

}  // namespace hearsay::gossip
