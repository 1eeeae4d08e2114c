// SPDX-License-Identifier: Apache-2.0
#include "gossip/peer_table.hpp"

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

bool is_away(PeerTable::State state) { return state == PeerTable::State::gone || state == PeerTable::State::left; }

}  // namespace

PeerTable::PeerTable(PeerId self, std::uint32_t peers) : self_(self), entries_(peers), training_(peers - 1) {
  HS_CHECK(self.value < peers);
}

void PeerTable::move(PeerId peer, State to) {
  HS_CHECK(peer != self_ && peer.value < entries_.size());
  State& state = entries_[peer.value].state;
  if (state == State::training) --training_;
  if (is_away(state)) --out_of_reach_;
  state = to;
  if (to == State::training) ++training_;
  if (is_away(to)) ++out_of_reach_;
}

bool PeerTable::heard(PeerId peer, Time now) {
  entries_[peer.value].last_heard = now;
  if (state(peer) != State::gone) return false;
  move(peer, State::training);
  return true;
}

void PeerTable::finished(PeerId peer) {
  if (state(peer) != State::left) move(peer, State::finished);
}

void PeerTable::left(PeerId peer) { move(peer, State::left); }

bool PeerTable::gone(PeerId peer) {
  if (is_away(state(peer))) return false;
  move(peer, State::gone);
  return true;
}

std::vector<PeerId> PeerTable::in_state(State wanted) const {
  std::vector<PeerId> peers;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (PeerId(i) != self_ && entries_[i].state == wanted) peers.push_back(PeerId(i));
  }
  return peers;
}

}  // namespace hearsay::gossip
