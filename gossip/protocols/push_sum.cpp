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

// Whether a peer may give half of its mass away. One that only sends would run out of it, and the
// next model that came would replace its own training: it keeps a share of what masses usually
// are, and waits until it has received some. What is usual is learnt from what comes in, because
// masses are relative: frames that are lost take theirs along, and a pool that has bled must not
// wait for masses of old. A peer to whom nothing comes at all thinks less and less usual.
class Thrift {
 public:
  // Of a mass, however often it was halved: of no weight beside any other, and still a number.
  static constexpr double kLeast = 1e-200;

  bool may_send(double mass, std::uint32_t peers) {
    if (mass >= usual_ / (kShare * peers)) return true;
    if (++starved_ > kPatience) usual_ = std::max(0.5 * usual_, kLeast);
    return false;
  }
  void received(double mass) {
    starved_ = 0;
    usual_ = std::max(usual_ + kWeight * (2.0 * mass - usual_), kLeast);  // half of it was sent
  }
  void state(Archive& a) {
    a("usual", usual_)("starved", starved_);
    if (a.loading() && !(usual_ >= kLeast && usual_ <= 2.0 * limits::kMostMass))
      a.fail("usual", "is no mass");
  }

 private:
  static constexpr double kShare = 64.0, kWeight = 0.125;
  static constexpr std::uint32_t kPatience = 4;  // merges
  double usual_ = 1.0;
  std::uint32_t starved_ = 0;  // merges in a row that were not started
};

class PushSum final : public PendingExchange {
 public:
  explicit PushSum(bool wait) : wait_(wait) {}

  // A frame replaced would be mass lost.
  Inbox::Keep keep() const override { return Inbox::Keep::every; }

  bool start(PeerId partner, PeerState& peer, Turn& turn) override {
    double& mass = peer.counters.mass;
    if (!thrift_.may_send(mass, peer.settings.peers)) return false;
    mass = std::max(0.5 * mass, Thrift::kLeast);
    push(partner, mass, wait_, peer, turn);
    return true;
  }

  void receive(Frame frame, PeerState& peer, Turn& turn) override {
    if (frame.kind == FrameKind::ack) answer(frame, peer, turn.now);
    if (frame.kind != FrameKind::push && frame.kind != FrameKind::returned) return;
    double& mass = peer.counters.mass;
    const double alpha = frame.mass / (mass + frame.mass);
    const Heard heard = hear(frame, nullptr, peer, turn);  // whole: masses go with no codec
    if (!heard.in) {
      refuse_unread(frame, heard, peer, turn);
      return acknowledge(frame, peer, turn);
    }
    const merge::Decision decision = merge_in({frame, heard, nullptr, alpha}, peer, turn);
    // What its receiver has refused goes home; there its mass counts again, whatever it says.
    if (decision.verdict == merge::Verdict::refuse && frame.kind == FrameKind::push)
      return refuse(std::move(frame), peer, turn);
    mass = std::min(mass + frame.mass, limits::kMostMass);
    thrift_.received(frame.mass);
    if (frame.kind == FrameKind::push) acknowledge(frame, peer, turn);
  }

  void state(Archive& a) override {
    PendingExchange::state(a);
    a("thrift", thrift_);
  }

  void refuse(Frame frame, PeerState& peer, Turn& turn) override {
    acknowledge(frame, peer, turn);
    Frame back = std::move(frame);
    back.kind = FrameKind::returned;
    std::swap(back.from, back.to);
    back.wants_ack = false;
    back.seq = peer.next_seq++;
    back.pulses = peer.table.pulses(limits::kPulses);
    back.sketches.clear();
    turn.record(sent_event(back, peer));
    turn.send(std::move(back));
  }

 private:
  Thrift thrift_;
  bool wait_;
};

}  // namespace

std::unique_ptr<Exchange> make_push_sum(bool wait) { return std::make_unique<PushSum>(wait); }

}  // namespace hearsay::gossip
