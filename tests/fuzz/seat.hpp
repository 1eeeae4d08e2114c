// SPDX-License-Identifier: Apache-2.0
// A protocol in the place of a host: inputs go in as a host would give them (a mini-batch ends only
// when one has begun, a timer fires only when it was set), and after each one the peer's weights
// are looked at. For targets that drive a peer with what strangers sent or files held.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "gossip/baselines/ddp.hpp"
#include "gossip/examples/testkit.hpp"
#include "gossip/wire/header.hpp"
#include "tests/fuzz/support.hpp"

namespace hearsay::fuzz {

inline constexpr std::uint32_t kPeers = 4;
inline constexpr std::size_t kValues = 6;
// Of the seats `rendezvous` and `push_sum`, which pass examples on; the latter copies.
inline constexpr gossip::ExampleShape kExamples{
    .values = 8, .classes = 10, .examples = 32, .peers = kPeers};
inline constexpr std::uint32_t kSketchValues = 1024;  // of the seats that find communities

enum class SeatKind : std::uint8_t { push, pairwise, push_sum, rendezvous, crowd, late, ddp };
inline constexpr std::uint8_t kSeatKinds = 7;

inline std::shared_ptr<const merge::Policy> policy_of(SeatKind kind) {
  merge::Guards guards;
  guards.most_relative_norm = 4.0;  // as the runtime's own policies have it
  if (kind == SeatKind::crowd)
    guards.crowd = merge::CrowdRule{merge::CrowdRule::Kind::median, 2, 0};
  return std::make_shared<const merge::Policy>(
      std::make_unique<merge::Ema>(0.5, 0.5, merge::Ema::Shape::constant),
      std::vector<std::unique_ptr<merge::Modifier>>{}, guards);
}

inline std::unique_ptr<gossip::Protocol> protocol_of(SeatKind kind) {
  using gossip::ExchangeKind;
  if (kind == SeatKind::ddp) {
    gossip::DdpSettings s;
    s.self = kernels::PeerId(0);
    s.peers = kPeers;
    s.steps_per_epoch = 4;
    s.epochs = 4;
    return std::make_unique<gossip::Ddp>(s);
  }
  const ExchangeKind exchange = kind == SeatKind::pairwise || kind == SeatKind::rendezvous
                                    ? ExchangeKind::pairwise
                                : kind == SeatKind::push_sum ? ExchangeKind::push_sum
                                                             : ExchangeKind::push;
  gossip::GossipSettings s = gossip::testkit::settings(0, kPeers, exchange);
  s.blocks = {2.0, gossip::BlockMode::steps, 4, 4};
  s.wait = kind == SeatKind::rendezvous;
  s.late = kind == SeatKind::late;
  s.until_converged = kind == SeatKind::push_sum;
  s.end_game_rounds = kind == SeatKind::push || kind == SeatKind::pairwise ? 2 : 0;
  s.policy = policy_of(kind);
  if (kind != SeatKind::crowd) {
    auto communities = std::make_shared<gossip::CommunityPlan>();
    communities->sketch.buckets = kSketchValues;
    communities->every = 1;
    s.communities = std::move(communities);
  }
  if (kind == SeatKind::rendezvous || kind == SeatKind::push_sum)
    s.transfers = std::make_shared<const gossip::TransferPlan>(
        gossip::TransferPlan{4, kind == SeatKind::push_sum, "fuzz"});
  return std::make_unique<gossip::GossipPeer>(s);
}

class Seat {
 public:
  explicit Seat(SeatKind kind)
      : protocol_(protocol_of(kind)),
        model_({1, -1, 2, 0.5f, 0, 3}, kExamples, {0, 1, 2, 3, 4, 5, 6, 7}) {
    model_.moved = {1, 2, 3, 4, 5, 6};
  }

  gossip::Protocol& protocol() { return *protocol_; }
  gossip::testkit::TinyModel& model() { return model_; }
  bool ended() const { return ended_; }

  void on(const gossip::Input& input) {
    using namespace gossip;
    const std::vector<float> before = model_.w;
    const std::uint64_t applied = protocol_->counters().merges_applied;
    now_ += std::chrono::milliseconds(100);
    Actions out;
    protocol_->on(input, now_, model_, out);
    const bool may_move = protocol_->counters().merges_applied != applied || adopts(input);
    for (Action& action : out) {
      if (std::holds_alternative<action::Train>(action)) ++steps_due_;
      if (std::holds_alternative<action::TrainGradient>(action)) ++steps_due_;
      if (std::holds_alternative<action::Finish>(action)) ended_ = true;
      if (const auto* timer = std::get_if<action::SetTimer>(&action)) timers_.push_back(timer->id);
      if (const auto* send = std::get_if<action::Send>(&action)) check_sent(send->frame);
    }
    require(may_move || before == model_.w, "weights move only by a merge or a donor's model");
    const bool finite =
        std::all_of(model_.w.begin(), model_.w.end(), [](float w) { return std::isfinite(w); });
    require(finite, "weights stay finite");
  }
  // The mini-batch in progress, if there is one.
  void finish_step() {
    if (steps_due_ == 0) return;
    --steps_due_;
    on(gossip::input::StepDone{{1, 0.5, 1, 0.1}});
  }
  void fire_timer(std::size_t choice) {
    if (timers_.empty()) return;
    const auto chosen = timers_.begin() + static_cast<std::ptrdiff_t>(choice % timers_.size());
    const std::uint64_t id = *chosen;
    timers_.erase(chosen);
    now_ += std::chrono::seconds(2);
    on(gossip::input::Timer{id});
  }

 private:
  // Whoever gets it would close the connection over a frame that is not right.
  void check_sent(const gossip::Frame& frame) const {
    require(frame.from == kernels::PeerId(0) && frame.to.value < kPeers, "frames go to peers");
    const gossip::wire::Header header = gossip::wire::header_of(frame);
    require(gossip::wire::find_fault(header, {frame.to, frame.from, kPeers, kValues, {},
                                              kSketchValues, kExamples.bytes()})
                .empty(),
            "what is sent would be accepted");
  }
  static bool adopts(const gossip::Input& input) {
    const auto* in = std::get_if<gossip::input::FrameIn>(&input);
    return in != nullptr && in->frame.kind == gossip::FrameKind::model;
  }

  std::unique_ptr<gossip::Protocol> protocol_;
  gossip::testkit::TinyPeerModel model_;
  gossip::Time now_{0};
  int steps_due_ = 0;
  std::vector<std::uint64_t> timers_;
  bool ended_ = false;
};

}  // namespace hearsay::fuzz
