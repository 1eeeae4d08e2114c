// SPDX-License-Identifier: Apache-2.0
// Own weights into messages, and messages into whole models: in the pool's codec where it has one
// and speaks in it, else as they are. Invariant: a message that cannot be read changes nothing but
// what is known of its sender. Compute lane. Cost: raw nothing; else one pass of the codec a call.
#pragma once

#include <optional>
#include <string>

#include "gossip/frame.hpp"
#include "gossip/peer_state.hpp"

namespace hearsay::gossip {

// The own weights on their way to a partner.
struct Spoken {
  merge::SnapshotRef values;  // one of these two, as in a frame
  merge::PackedRef packed;
  // What displacements of this exchange count from: the own weights, or what the partner sees of
  // them (see reflect()).
  merge::SnapshotRef base;
  std::optional<double> density;  // share of the weights that are spoken of, where it is known
};

// What a partner is told: the own weights, or what an outer optimiser says in their place.
merge::SnapshotRef own_words(const PeerState& peer, Turn& turn);

// `like`: the frame that is answered; null: none.
Spoken speak(const merge::SnapshotRef& mine, PeerId to, const Frame* like, PeerState& peer);
// What was last said to `who` may not have been taken.
void missed(PeerId who, const PeerState& peer);

// Whether both sides of an exchange speak of the same weights. Both then move by the difference of
// what was said, a (said by the other - said by me), which adds up to nothing over the two: the
// pool's mean is kept, whatever a message leaves out or rounds.
bool mirrors(const PeerState& peer);
// Where they do, `base` becomes what the partner will see.
void reflect(Spoken& spoken, const PeerState& peer, Turn& turn);

struct Heard {
  merge::SnapshotRef in;  // null: it cannot be read
  std::string fault;      // and why
  std::optional<double> density;
  bool is_lost = false;  // as in Unpacked
};
// Where the frame says nothing, `in` is `base`; null: the own weights.
Heard hear(const Frame& frame, const merge::Snapshot* base, const PeerState& peer, Turn& turn);

// An exchange took that long, waiting included: a codec that adapts may speak another way from now
// on, which is recorded. Whether it does.
bool adapt(Time took, PeerState& peer, Turn& turn);
// --bandwidth has a say too: what a message may have, for merges to come as often as they should.
void afford(PeerState& peer, Turn& turn);
void record_change(const CodecChange& change, Turn& turn);

}  // namespace hearsay::gossip
