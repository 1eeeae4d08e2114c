// SPDX-License-Identifier: Apache-2.0
// Who is alike, before anybody merges with a stranger: sketches made and passed on outside of
// merges.
#include "gossip/merging.hpp"
#include "gossip/protocols/gossip_peer.hpp"

namespace hearsay::gossip {
namespace {

constexpr std::size_t kMeetings = 3;  // peers that nothing is known of, asked after an epoch
constexpr std::uint64_t kFresh = 2;   // own merges for which a sketch is as good as new

}  // namespace

void GossipPeer::note_direction(Turn& turn) {
  if (peer_.steering && peer_.steering->finds())
    peer_.steering->add_block(turn.model.block_sketch(peer_.steering->sketch_plan()));
}

// A block of several epochs would leave this peer unknown for as long, and it would learn of nobody
// new: a first sketch is made after one epoch (which then counts twice in the smoothed direction),
// and strangers are asked after each.
void GossipPeer::note_epoch(Turn& turn) {
  const bool finds = peer_.steering && peer_.steering->finds();
  const bool due = block_.steps_left > 0 && block_.steps % blocks_.plan().steps_per_epoch == 0;
  if (!finds || !due) return;
  if (!peer_.steering->knows_itself()) note_direction(turn);
  meet_strangers(turn);
}

// Peers to ask who is alike: those that nothing is known of, from the next place on, so that all
// ask others; when there are none, the one that was heard of longest ago. Who merges within its own
// community alone hears of the others in no other way, and directions of long ago are alike only in
// that they are old.
std::vector<PeerId> GossipPeer::strangers(Time now) const {
  const std::uint32_t peers = peer_.settings.peers;
  const std::uint64_t clock = peer_.merge_clock();
  std::vector<PeerId> unknown, stale;
  std::uint64_t oldest = kFresh;
  for (std::uint32_t i = 1; i < peers; ++i) {
    const PeerId other((peer_.settings.self.value + i) % peers);
    if (!peer_.table.may_merge(other, now)) continue;
    if (!peer_.steering->knows(other)) unknown.push_back(other);
    if (peer_.steering->age(other, clock) > oldest) {
      oldest = peer_.steering->age(other, clock);
      stale.assign(1, other);
    }
  }
  return unknown.empty() ? stale : unknown;
}

// They answer with what they know: of a pool of 16, everybody knows everybody after two or three
// rounds.
void GossipPeer::meet_strangers(Turn& turn) {
  if (!peer_.steering || !peer_.steering->finds()) return;
  if (peer_.budget && !peer_.budget->may_start(turn.now)) return;
  std::size_t met = 0;
  for (const PeerId other : strangers(turn.now)) {
    if (met == kMeetings) return;
    Frame question = control_frame(FrameKind::ping, other, 0, peer_);
    question.sketches = peer_.steering->for_partner(other);
    if (question.sketches.empty()) continue;  // nothing to tell that it has not been told
    turn.send(std::move(question));
    ++met;
  }
}

// Whoever has finished says so again: the notice may have been lost. A question that came with
// sketches gets those that are known here.
void GossipPeer::answer_ping(const Frame& ping, Turn& turn) {
  if (is_lingering()) return turn.send(finished_frame(ping.from));
  Frame answer = control_frame(FrameKind::pong, ping.from, 0, peer_);
  const bool may = !peer_.budget || peer_.budget->may_answer(turn.now);
  if (peer_.steering && may && !ping.sketches.empty() && !peer_.ignores(ping.from))
    answer.sketches = peer_.steering->for_partner(ping.from);
  turn.send(std::move(answer));
}

}  // namespace hearsay::gossip
