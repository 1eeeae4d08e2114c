// SPDX-License-Identifier: Apache-2.0
// Push: the receiver moves towards the sender, the sender learns nothing. With `wait` the sender
// trains on only after the receiver has merged (or refused): the literal reading of "W1 pushes to
// W2 and draws a new K".
#include <utility>

#include "gossip/merging.hpp"
#include "gossip/protocols/pending.hpp"

namespace hearsay::gossip {
namespace {

class Push final : public PendingExchange {
 public:
  explicit Push(bool wait) : wait_(wait) {}

  Inbox::Keep keep() const override { return Inbox::Keep::newest; }

  bool start(PeerId partner, PeerState& peer, Turn& turn) override {
    push(partner, 0.0, wait_, peer, turn);
    return true;
  }

  void receive(Frame frame, PeerState& peer, Turn& turn) override {
    if (frame.kind == FrameKind::ack) answer(frame, peer, turn.now);
    if (frame.kind != FrameKind::push) return;
    const Heard heard = hear(frame, nullptr, peer, turn);
    if (heard.in) {
      merge_in({frame, heard, nullptr, std::nullopt}, peer, turn);
    } else {
      refuse_unread(frame, heard, peer, turn);
    }
    acknowledge(frame, peer, turn);
  }

  void refuse(Frame frame, PeerState& peer, Turn& turn) override { acknowledge(frame, peer, turn); }

 private:
  bool wait_;
};

}  // namespace

std::unique_ptr<Exchange> make_push(bool wait) { return std::make_unique<Push>(wait); }

}  // namespace hearsay::gossip
