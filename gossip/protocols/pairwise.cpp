// SPDX-License-Identifier: Apache-2.0
// Pairwise, asynchronous. i sends s_i and trains on; j answers at its next boundary with s_j, taken
// before it merges, and moves by a (s_i - s_j); i moves by a (s_j - s_i) when the answer is in.
// Both use j's alpha when the policy is symmetric, so the pool's mean is kept exactly; otherwise
// each side decides for itself.
#include <utility>

#include "gossip/merging.hpp"
#include "gossip/protocols/pending.hpp"

namespace hearsay::gossip {
namespace {

class Pairwise final : public PendingExchange {
 public:
  Inbox::Keep keep() const override { return Inbox::Keep::every; }

  bool start(PeerId partner, PeerState& peer, Turn& turn) override {
    merge::SnapshotRef mine = turn.model.snapshot();
    Frame request = weights_frame(FrameKind::request, partner, mine, peer);
    turn.record(sent_event(request));
    await({request.seq, partner, std::move(mine), turn.now}, peer, turn);
    turn.send(std::move(request));
    return true;
  }

  void receive(Frame frame, PeerState& peer, Turn& turn) override {
    switch (frame.kind) {
      case FrameKind::request: return serve(frame, peer, turn);
      case FrameKind::reply: return conclude(frame, peer, turn);
      case FrameKind::busy:
        if (answer(frame, peer, turn.now)) peer.table.busy(frame.from, turn.now, peer.backoff);
        return;
      default: return;  // another exchange kind's frame
    }
  }

  void refuse(Frame frame, PeerState& peer, Turn& turn) override {
    if (frame.kind == FrameKind::request)
      turn.send(control_frame(FrameKind::busy, frame.from, frame.seq, peer));
  }

 private:
  void serve(const Frame& request, PeerState& peer, Turn& turn) {
    merge::SnapshotRef mine =
        turn.model.snapshot();  // before the merge: the initiator answers to these weights
    const merge::Decision decision = merge_in({request, nullptr, std::nullopt}, peer, turn);
    if (decision.verdict == merge::Verdict::refuse)
      return turn.send(control_frame(FrameKind::busy, request.from, request.seq, peer));
    Frame reply = weights_frame(FrameKind::reply, request.from, std::move(mine), peer);
    reply.answers = request.seq;
    reply.alpha = decision.alpha;
    turn.record(sent_event(reply));
    turn.send(std::move(reply));
  }

  void conclude(const Frame& reply, PeerState& peer, Turn& turn) {
    const auto entry = answer(reply, peer, turn.now);
    if (!entry) {  // given up before, or never asked
      return turn.record(fault_event("late reply", reply.from,
                                     "answers " + std::to_string(reply.answers), "ignored"));
    }
    MergeRequest request{reply, entry->sent.get(), std::nullopt};
    if (peer.settings.policy->symmetric()) request.fixed_alpha = reply.alpha;
    merge_in(request, peer, turn);
  }
};

}  // namespace

std::unique_ptr<Exchange> make_pairwise() { return std::make_unique<Pairwise>(); }

}  // namespace hearsay::gossip
