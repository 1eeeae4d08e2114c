// SPDX-License-Identifier: Apache-2.0
#include "gossip/peer_table.hpp"

#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

using State = PeerTable::State;

bool is_away(State state) {
  return state == State::suspected || state == State::gone || state == State::left;
}
bool is_unsettled(State state) { return state == State::training || state == State::suspected; }

}  // namespace

PeerTable::PeerTable(PeerId self, std::uint32_t peers)
    : self_(self), entries_(peers), unsettled_(peers - 1) {
  HS_CHECK(self.value < peers);
}

void PeerTable::move(PeerId peer, State to) {
  HS_CHECK(peer != self_ && peer.value < entries_.size());
  State& state = entries_[peer.value].is;
  if (is_unsettled(state)) --unsettled_;
  if (is_away(state)) --out_of_reach_;
  state = to;
  if (is_unsettled(to)) ++unsettled_;
  if (is_away(to)) ++out_of_reach_;
}

bool PeerTable::heard(PeerId peer, Time now) {
  entries_[peer.value].last_heard = now;
  if (state(peer) != State::gone && state(peer) != State::suspected) return false;
  move(peer, State::training);
  return true;
}

void PeerTable::finished(PeerId peer) {
  if (state(peer) != State::left) move(peer, State::finished);
}

void PeerTable::left(PeerId peer) { move(peer, State::left); }

bool PeerTable::suspected(PeerId peer) {
  if (!may_merge(peer)) return false;
  const bool was_training = state(peer) == State::training;
  if (was_training) move(peer, State::suspected);
  return was_training;
}

bool PeerTable::gone(PeerId peer) {
  if (state(peer) == State::gone || state(peer) == State::left) return false;
  move(peer, State::gone);
  return true;
}

void PeerTable::reopen_finished() {
  for (const PeerId peer : in_state(State::finished)) move(peer, State::training);
}

void PeerTable::state(Archive& archive) {
  const std::size_t peers = entries_.size();
  archive("entries", entries_);
  if (!archive.loading()) return;
  if (entries_.size() != peers) archive.fail("entries", "another number of peers");
  unsettled_ = out_of_reach_ = 0;
  for (std::size_t i = 0; i < peers; ++i) {
    if (entries_[i].is > State::left) archive.fail("entries", "a state that does not exist");
    if (i == self_.value) continue;
    if (is_unsettled(entries_[i].is)) ++unsettled_;
    if (is_away(entries_[i].is)) ++out_of_reach_;
  }
}

std::vector<PeerId> PeerTable::in_state(State wanted) const {
  std::vector<PeerId> peers;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    if (PeerId(i) != self_ && entries_[i].is == wanted) peers.push_back(PeerId(i));
  }
  return peers;
}

}  // namespace hearsay::gossip
