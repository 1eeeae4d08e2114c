// SPDX-License-Identifier: Apache-2.0
// Push-sum in pairwise asynchronous form (GoSGD, Blot et al. 2016, arXiv 1611.09726). Every peer
// holds a mass p, 1 at the start. The sender halves p and sends (w, p/2); the receiver moves by
// p_in / (p + p_in) and adds p_in. Invariants with learning off, frames in flight included: sum of
// p, and sum of p w. A frame that cannot be kept goes back to its sender, who merges its own mass
// in again.
#include <algorithm>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "gossip/protocols/pending.hpp"

namespace hearsay::gossip {
namespace {

class PushSum final : public PendingExchange {
 public:
  explicit PushSum(bool wait) : wait_(wait) {}

  // A frame replaced would be mass lost.
  Inbox::Keep keep() const override { return Inbox::Keep::every; }

  bool start(PeerId partner, PeerState& peer, Turn& turn) override {
    double& mass = peer.counters.mass;
    // A peer that only sends would run out of mass: it waits until it has received some.
    if (mass < 1.0 / (64.0 * peer.settings.peers)) return false;
    mass *= 0.5;
    push(partner, mass, wait_, peer, turn);
    return true;
  }

  void receive(Frame frame, PeerState& peer, Turn& turn) override {
    if (frame.kind == FrameKind::ack) answer(frame, peer, turn.now);
    if (frame.kind != FrameKind::push && frame.kind != FrameKind::returned) return;
    double& mass = peer.counters.mass;
    const double alpha = frame.mass / (mass + frame.mass);
    const merge::Decision decision = merge_in({frame, nullptr, alpha}, peer, turn);
    if (decision.verdict != merge::Verdict::refuse)
      mass = std::min(mass + frame.mass, limits::kMostMass);
    if (frame.kind == FrameKind::push) acknowledge(frame, peer, turn);
  }

  void refuse(Frame frame, PeerState& peer, Turn& turn) override {
    acknowledge(frame, peer, turn);
    Frame back = std::move(frame);
    back.kind = FrameKind::returned;
    std::swap(back.from, back.to);
    back.wants_ack = false;
    back.seq = peer.next_seq++;
    back.pulses = peer.table.pulses(limits::kPulses);
    turn.record(sent_event(back));
    turn.send(std::move(back));
  }

 private:
  bool wait_;
};

}  // namespace

std::unique_ptr<Exchange> make_push_sum(bool wait) { return std::make_unique<PushSum>(wait); }

}  // namespace hearsay::gossip
