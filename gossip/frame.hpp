// SPDX-License-Identifier: Apache-2.0
// What one peer tells another. In a simulation frames travel as they are; over TCP they are encoded
// with a header of kHeaderBytes in front of the weights, so that bytes off the meter are the same
// in both.
#pragma once

#include <cstdint>
#include <vector>

#include "gossip/archive.hpp"
#include "gossip/limits.hpp"
#include "gossip/pulse.hpp"
#include "gossip/sketch.hpp"
#include "kernels/core/strong_id.hpp"
#include "merge/packed.hpp"
#include "merge/snapshot.hpp"

namespace hearsay::gossip {

using kernels::PeerId;

enum class FrameKind : std::uint8_t {
  push,      // weights, no answer expected unless `wants_ack`
  ack,       // a push has been merged (rendezvous) or refused
  request,   // pairwise: the initiator's weights
  reply,     // pairwise: the partner's weights before it merged
  busy,      // pairwise: the partner will not exchange; weights unchanged on both sides
  returned,  // push-sum: mass that could not be kept goes back to its sender
  chunk,     // all-reduce: a slice of the gradient
  ping,      // are you there? with sketches: and who is alike?
  pong,      // yes; with sketches, if the question had some
  finished,  // the sender starts no more merges
  left,      // the sender will not answer any more
  fetch,     // a late joiner asks for weights to begin with
  model,     // the weights that were asked for; how far the sender is, as a share of its epochs
  examples,  // examples for the receiver; to be owned by it when `wants_ack`
  receipt,   // which of them it has taken: bit i of `seq`, the i-th
  offered,   // has the offer `seq` come? if not, it is void
};

struct Vote {
  PeerId peer;
  std::uint32_t age =
      0;  // merges since the peer last said so, counted by everyone who passed it on
  void state(Archive& a) { a("peer", peer)("age", age); }
};

struct Frame {
  FrameKind kind = FrameKind::ping;
  PeerId from, to;
  std::uint64_t seq = 0;      // counts the weights that `from` has sent; chunk: the training step
  std::uint64_t answers = 0;  // reply, busy, ack, model: `seq` of the frame that is answered
  std::uint64_t samples = 0;  // trained by `from` when the values were taken
  double alpha = 0.0;         // reply: share that the partner used
  double mass = 0.0;  // push-sum weight; chunk: examples behind the slice; model: progress, 0 .. 1
  std::uint32_t slice = 0;  // chunk: which slice
  bool wants_ack = false;
  bool converged = false;  // finished: because the pool voted so; chunk: stop after this step
  bool end_game = false;   // belongs to the merges after training
  std::vector<Vote> votes;
  std::vector<Pulse> pulses;     // the sender's own first
  std::vector<Sketch> sketches;  // with weights, ping, pong; all of one size; see communities/
  // Control frames have neither of these, others one.
  merge::SnapshotRef values;  // weights or slice
  merge::PackedRef packed;    // weights in the pool's codec, or examples (examples/example.hpp)

  static constexpr std::uint64_t kHeaderBytes = 64;
  static constexpr std::uint64_t kVoteBytes = 8;
  static constexpr std::uint64_t kPulseBytes = 12;
  static constexpr std::uint64_t kSketchHeadBytes = 12;  // and 2 a value
  // Or a slice, or examples: what is large, and not sent in vain.
  bool carries_weights() const { return values != nullptr || packed != nullptr; }
  std::uint64_t payload_bytes() const {
    if (packed) return packed->bytes.size();
    return values ? values->size() * sizeof(float) : 0;
  }
  // Of the payload: raw data, not weights.
  std::uint64_t example_bytes() const { return kind == FrameKind::examples ? payload_bytes() : 0; }
  std::uint64_t wire_bytes() const {
    return payload_bytes() + kHeaderBytes + kVoteBytes * votes.size() +
           kPulseBytes * pulses.size() + sketches.size() * (kSketchHeadBytes + 2 * sketch_values());
  }
  std::uint64_t sketch_values() const { return sketches.empty() ? 0 : sketches.front().size(); }

  void state(Archive& a) {
    a("kind", kind)("from", from)("to", to)("seq", seq)("answers", answers)("samples", samples);
    a("alpha", alpha)("mass", mass)("slice", slice)("wants_ack", wants_ack);
    a("converged", converged)("end_game", end_game)("votes", votes)("pulses", pulses);
    a("values", values);
    if (packed || a.has("packed")) a("packed", packed);
    if (!sketches.empty() || a.has("sketches")) a("sketches", sketches);
    for (const Sketch& sketch : sketches) {
      if (!sketch.values || sketch.size() != sketch_values()) a.fail("sketches", "differ in size");
    }
    if (values && packed) a.fail("packed", "comes beside values");
    if (kind > FrameKind::offered) a.fail("kind", "does not exist");
    const bool is_share = alpha >= 0.0 && alpha <= 1.0;
    const bool is_mass = mass >= 0.0 && mass <= limits::kMostMass;
    if (kind != FrameKind::chunk && !(is_share && is_mass)) a.fail("alpha", "is out of range");
  }
};

}  // namespace hearsay::gossip
