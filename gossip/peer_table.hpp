// SPDX-License-Identifier: Apache-2.0
// What one peer believes about the others, kept current by every frame that arrives. Suspected: an
// exchange got no answer, so it is not chosen, but the end of the run still waits for it. Gone: the
// transport or long silence says so. A suspected or gone peer comes back with its next frame. O(n)
// memory, O(1) updates.
#pragma once

#include <cstdint>
#include <vector>

#include "gossip/protocol.hpp"

namespace hearsay::gossip {

class PeerTable {
 public:
  PeerTable(PeerId self, std::uint32_t peers);

  enum class State : std::uint8_t { training, finished, suspected, gone, left };

  State state(PeerId peer) const { return entries_[peer.value].is; }
  Time last_heard(PeerId peer) const { return entries_[peer.value].last_heard; }
  bool may_merge(PeerId peer) const {
    return state(peer) == State::training || state(peer) == State::finished;
  }

  // A frame from `peer` came in. True when the peer had been suspected or gone and is back.
  bool heard(PeerId peer, Time now);
  void finished(PeerId peer);
  void left(PeerId peer);       // said goodbye: never comes back
  bool suspected(PeerId peer);  // true when that is news
  bool gone(PeerId peer);       // true when that is news

  void reopen_finished();  // an end game begins: who has finished will finish once more

  std::size_t out_of_reach() const noexcept { return out_of_reach_; }  // suspected, gone or left
  // Nobody is left who may still train: everyone else has finished, left or is gone.
  bool all_settled() const noexcept { return unsettled_ == 0; }
  std::vector<PeerId> in_state(State wanted) const;
  void state(Archive& archive);

 private:
  struct Entry {
    State is = State::training;
    Time last_heard{0};
    void state(Archive& a) { a("is", is)("last_heard", last_heard); }
  };
  void move(PeerId peer, State to);

  PeerId self_;
  std::vector<Entry> entries_;
  std::size_t unsettled_ = 0, out_of_reach_ = 0;
};

}  // namespace hearsay::gossip
