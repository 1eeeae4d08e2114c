// SPDX-License-Identifier: Apache-2.0
// After each merge, where the codec goes by the loss: tells it, and undoes what made the loss jump.
// The weights become those after the last good merge and training goes on from them without
// momentum, at its place in the schedule: a protocol cannot lower the learning rate, which is the
// schedule's. What was published stays, as partners hold it; what differs from it is said again.
// Compute lane. Cost: a forward pass over the probe set, 4 B a weight of memory.
#pragma once

#include "gossip/peer_state.hpp"

namespace hearsay::gossip {

// Records codec.changed, and fault when it goes back.
void watch_loss(PeerState& peer, Turn& turn);

}  // namespace hearsay::gossip
