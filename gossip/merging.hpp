// SPDX-License-Identifier: Apache-2.0
// One merge, from arrived frame to changed weights: evidence, decision, blend, clocks, log lines.
// Every exchange kind goes through here, so a refusal leaves the weights untouched in exactly one
// place.
#pragma once

#include <optional>
#include <string_view>

#include "gossip/packing.hpp"
#include "gossip/peer_state.hpp"

namespace hearsay::gossip {

struct MergeRequest {
  const Frame& frame;
  const Heard& heard;  // the incoming weights, as the frame says them
  const merge::Snapshot* base =
      nullptr;  // own weights that the partner answered to; null: the current ones
  std::optional<double> fixed_alpha;  // set by the partner or by masses; none: ask the policy
};

// Judges and applies. Records merge.decided and, if accepted, merge.applied.
merge::Decision merge_in(const MergeRequest& request, PeerState& peer, Turn& turn);

// Weights that are not even judged. Counts and records; the weights stay as they are.
void refuse(const Frame& frame, std::string_view why, PeerState& peer, Turn& turn);
// A message that cannot be read speaks against its sender, unless it counts on another that was
// lost.
void refuse_unread(const Frame& frame, const Heard& heard, PeerState& peer, Turn& turn);

// The outer optimiser has dropped its momentum: says so.
void note_restart(const std::optional<OuterOptimizer::Restart>& restart, Turn& turn);

// A refusal that speaks against the sender; the third of a kind in a row has it ignored for a
// while.
void strike(PeerId from, std::string_view why, PeerState& peer, Turn& turn,
            Misdeed kind = Misdeed::weights);

// Log lines of weights on their way; `density` as in Spoken.
Event sent_event(const Frame& frame, const PeerState& peer,
                 std::optional<double> density = std::nullopt);
Event received_event(const Frame& frame);
// `peer` cannot reach `who` any more.
Event lost_event(PeerId who, const char* reason, const PeerState& peer);
// The sequence number, clock, votes and sketches that every outgoing frame with weights carries.
Frame weights_frame(FrameKind kind, PeerId to, const Spoken& spoken, PeerState& peer);

// A frame without weights; `answers` is the sequence number it refers to, 0 if none.
Frame control_frame(FrameKind kind, PeerId to, std::uint64_t answers, PeerState& peer);
// Tells the sender of a push that wants to know that the frame has been dealt with.
void acknowledge(const Frame& push, PeerState& peer, Turn& turn);

}  // namespace hearsay::gossip
