// SPDX-License-Identifier: Apache-2.0
// Pairwise, asynchronous. i sends s_i and trains on; j answers at its next boundary with s_j, taken
// before it merges, and moves by a (s_i - s_j); i moves by a (s_j - s_i) when the answer is in.
// Both use j's alpha when the policy is symmetric, so the pool's mean is kept exactly; otherwise
// each side decides for itself. In a codec both sides count from what was said of them where
// answers mirror (packing.hpp); where they do not, each moves from its own weights, and the mean is
// kept in expectation only.
#include <optional>
#include <utility>

#include "gossip/merging.hpp"
#include "gossip/protocols/pending.hpp"

namespace hearsay::gossip {
namespace {

class Pairwise final : public PendingExchange {
 public:
  Inbox::Keep keep() const override { return Inbox::Keep::every; }

  bool start(PeerId partner, PeerState& peer, Turn& turn) override {
    Spoken spoken = speak(own_words(peer, turn), partner, nullptr, peer);
    reflect(spoken, peer, turn);
    Frame request = weights_frame(FrameKind::request, partner, spoken, peer);
    if (peer.tuner) request.mass = Tuner::code(peer.tuner->choice());
    turn.record(sent_event(request, peer, spoken.density));
    await({request.seq, partner, std::move(spoken.base), turn.now}, peer, turn);
    turn.send(std::move(request));
    return true;
  }

  void receive(Frame frame, PeerState& peer, Turn& turn) override {
    switch (frame.kind) {
      case FrameKind::request: return serve(frame, peer, turn);
      case FrameKind::reply: return conclude(frame, peer, turn);
      case FrameKind::busy:
        if (!answer(frame, peer, turn.now)) return;
        missed(frame.from, peer);
        return peer.table.busy(frame.from, turn.now, peer.backoff);
      default: return;  // another exchange kind's frame
    }
  }

  void refuse(Frame frame, PeerState& peer, Turn& turn) override {
    if (frame.kind == FrameKind::request)
      turn.send(control_frame(FrameKind::busy, frame.from, frame.seq, peer));
  }

 private:
  void serve(const Frame& request, PeerState& peer, Turn& turn) {
    const merge::SnapshotRef mine =
        own_words(peer, turn);  // before the merge: the initiator answers to these weights
    const Heard heard = hear(request, mine.get(), peer, turn);
    if (!heard.in) {
      refuse_unread(request, heard, peer, turn);
      return refuse(request, peer, turn);
    }
    // A mirrored answer is made first, as this side moves from what it says; if the merge is then
    // refused, it counts as one that was lost on its way.
    std::optional<Spoken> answer;
    if (mirrors(peer)) {
      answer = speak(mine, request.from, &request, peer);
      reflect(*answer, peer, turn);
    }
    const merge::Snapshot* const base = answer && answer->packed ? answer->base.get() : nullptr;
    const merge::Decision decision = merge_in({request, heard, base, std::nullopt}, peer, turn);
    if (decision.verdict == merge::Verdict::refuse) {
      if (answer) missed(request.from, peer);
      return refuse(request, peer, turn);
    }
    if (!answer) answer = speak(mine, request.from, &request, peer);
    Frame reply = weights_frame(FrameKind::reply, request.from, *answer, peer);
    reply.answers = request.seq;
    reply.alpha = decision.alpha;
    turn.record(sent_event(reply, peer, answer->density));
    turn.send(std::move(reply));
  }

  void conclude(const Frame& reply, PeerState& peer, Turn& turn) {
    const auto entry = answer(reply, peer, turn.now);
    if (!entry && answers_forgotten(reply, peer, turn)) return;
    if (!entry) {  // given up before, or never asked
      return turn.record(fault_event("late reply", reply.from,
                                     "answers " + std::to_string(reply.answers), "ignored"));
    }
    note_time(entry->started, peer, turn);
    const bool fixed = peer.settings.policy->symmetric();
    // Displacements from one past overshoot where their alphas exceed 1: then the last one counts
    // from the weights as they are.
    const double all = (1.0 + entry->crossed) * (fixed ? reply.alpha : 1.0);
    const bool overshoots = entry->crossed > 0 && !(all <= 1.0);
    const merge::Snapshot* const base = overshoots ? nullptr : entry->sent.get();
    const Heard heard = hear(reply, base, peer, turn);
    if (!heard.in) return refuse_unread(reply, heard, peer, turn);
    MergeRequest request{reply, heard, base, std::nullopt};
    if (fixed) request.fixed_alpha = reply.alpha;
    merge_in(request, peer, turn);
  }
};

}  // namespace

std::unique_ptr<Exchange> make_pairwise() { return std::make_unique<Pairwise>(); }

}  // namespace hearsay::gossip
