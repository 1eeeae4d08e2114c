// SPDX-License-Identifier: Apache-2.0
// Who is there: pulses in, heartbeats out, and what silence means.
#include <cstdio>
#include <string>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "gossip/protocols/gossip_peer.hpp"

namespace hearsay::gossip {
namespace {

std::string seconds_text(Time time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

// Everything that a frame says about who is alive. False when another process has taken this
// peer's place: then it has left.
bool GossipPeer::take_pulses(const Frame& frame, Turn& turn) {
  for (const Pulse& pulse : frame.pulses) {
    const PeerTable::News news = peer_.table.learn(pulse, turn.now);
    if (news == PeerTable::News::superseded) {
      superseded(pulse, turn);
      return false;
    }
    tell(news, pulse.peer, pulse.peer == frame.from ? "a frame arrived" : "others hear it", turn);
  }
  tell(peer_.table.heard(frame.from, turn.now), frame.from, "a frame arrived", turn);
  return true;
}

void GossipPeer::tell(PeerTable::News news, PeerId who, const char* how, Turn& turn) {
  if (news == PeerTable::News::back)
    turn.record(fault_event("partner back", who, how, "counts again"));
  if (news != PeerTable::News::joined) return;
  peer_.acquaintances.erase(who);  // a new start remembers nothing
  Event joined("peer.joined");
  joined.add("who", peer_name(who)).add("inc", std::int64_t{peer_.table.incarnation(who)});
  turn.record(std::move(joined.add("reason", std::string(how))));
}

void GossipPeer::superseded(const Pulse& pulse, Turn& turn) {
  turn.record(fault_event(
      "superseded", peer_.settings.self,
      "start " + std::to_string(pulse.incarnation) + " of this peer is in the pool", "leaves"));
  Event left("peer.left");
  turn.record(std::move(left.add("reason", std::string("superseded"))));
  turn.out.push_back(action::Finish{"superseded", false});
  phase_ = Phase::done;
}

// Once every kBeat, at the boundary after it.
void GossipPeer::beat(Turn& turn) {
  constexpr Time kSlept = 3 * Time(limits::kBeat);
  const Time since = turn.now - last_beat_;
  if (since > kSlept) peer_.table.excuse(since - Time(limits::kBeat));
  last_beat_ = turn.now;
  peer_.table.beat();
  for (const PeerTable::Change& change : peer_.table.silences(turn.now)) {
    if (change.to == PeerTable::State::gone) {
      turn.record(lost_event(change.peer, "silent", peer_));
      partner_down(change.peer, turn);
    } else {
      turn.record(fault_event("silent", change.peer,
                              "no sign of life for " + seconds_text(change.silence),
                              "not chosen until it is heard of"));
    }
  }
  for (const PeerId peer : peer_.table.retries(turn.now, peer_.backoff))
    turn.send(control_frame(FrameKind::ping, peer, 0, peer_));
  if (peer_.transfers) peer_.transfers->ask_again(peer_, turn);
  if (frames_sent_ == frames_at_beat_) ping_somebody(turn);
  frames_at_beat_ = frames_sent_;
  turn.timer(turn.now + Time(limits::kBeat), kBeatTimer);
  if (phase_ == Phase::joining && !fetch_) ask_a_donor(turn);
  progress_when_answered(turn);
}

// Who has sent nothing since its last beat says that it is alive.
void GossipPeer::ping_somebody(Turn& turn) {
  constexpr int kTries = 8;  // in a pool where hardly anybody is left, a beat may go unheard
  for (int i = 0; i < kTries && peer_.settings.peers > 1; ++i) {
    const PeerId peer(peer_.backoff.below(peer_.settings.peers));
    if (peer == peer_.settings.self || !peer_.table.reachable(peer)) continue;
    return turn.send(control_frame(FrameKind::ping, peer, 0, peer_));
  }
}

}  // namespace hearsay::gossip
