// SPDX-License-Identifier: Apache-2.0
// What a peer's own events tell about its status: the newest merges, their ages, how far models
// that came in were from its own, the newest evaluation. Pure; lane: compute, where events are
// recorded; cost: a few field look-ups an event, none a mini-batch.
#pragma once

#include "gossip/event.hpp"
#include "runtime/launch/peer_status.hpp"

namespace hearsay::runtime {

// Null when the event has no such field.
const gossip::FieldValue* field_of(const gossip::Event& event, std::string_view key);

// `at_s`: run clock of the event.
void note_event(const gossip::Event& event, double at_s, PeerStatus& status);

// The rest of a merge, for whoever has read it elsewhere: a model came in (`relative_norm` of its
// displacement), and was applied.
void note_decision(double age_samples, double relative_norm, PeerStatus& status);
void note_merge(PeerStatus::Merge merge, PeerStatus& status);

}  // namespace hearsay::runtime
