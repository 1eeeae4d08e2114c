// SPDX-License-Identifier: Apache-2.0
// What a peer does with weights that would poison it, with those who send them, and with its own.
#include <cmath>
#include <limits>

#include "gossip/limits.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "gossip/protocols/testkit.hpp"
#include "merge/policies/norm_clip.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using namespace std::chrono_literals;
namespace merge = hearsay::merge;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const input::StepDone kStep{{1, 0.5, 1, 0.1}};

struct Seat {
  Seat(const GossipSettings& s, std::vector<float> w) : protocol(s), model(std::move(w)) {
    on(input::Start{});
  }
  Actions on(const Input& input, Time now = 1s) {
    Actions out;
    protocol.on(input, now, model, out);
    return out;
  }
  // Weights come and the mini-batch ends.
  Actions sent(std::uint32_t from, std::uint64_t seq, const std::vector<float>& values) {
    Frame frame;
    frame.kind = FrameKind::push;
    frame.from = PeerId(from);
    frame.to = PeerId(0);
    frame.seq = seq;
    frame.values = model.copy(values);
    Actions all = on(input::FrameIn{frame});
    for (Action& action : on(kStep)) all.push_back(std::move(action));
    return all;
  }
  std::uint64_t refused() const { return protocol.counters().merges_refused; }
  std::uint64_t applied() const { return protocol.counters().merges_applied; }
  GossipPeer protocol;
  TinyModel model;
};

GossipSettings pushed(std::uint32_t peers, merge::Guards guards = {}) {
  GossipSettings s = settings(0, peers, ExchangeKind::push);
  s.blocks = {1000.0, BlockMode::steps, 1000, 1000};
  guards.most_relative_norm = 4.0;
  s.policy = std::make_shared<const merge::Policy>(
      std::make_unique<merge::Ema>(0.5, 0.5, merge::Ema::Shape::constant),
      std::vector<std::unique_ptr<merge::Modifier>>{}, guards);
  return s;
}

bool said(const Actions& actions, std::string_view kind) {
  for (const Action& action : actions) {
    const auto* record = std::get_if<action::Record>(&action);
    if (record == nullptr || record->event.name != "fault.seen") continue;
    for (const Field& field : record->event.fields) {
      if (field.key == "kind" && std::get<std::string>(field.value) == kind) return true;
    }
  }
  return false;
}

// A number of the newest decision about a model; NaN when it has none.
double decided(const Actions& actions, std::string_view key) {
  double found = kNaN;
  for (const Action& action : actions) {
    const auto* record = std::get_if<action::Record>(&action);
    if (record == nullptr || record->event.name != "merge.decided") continue;
    for (const Field& field : record->event.fields) {
      if (field.key == key) found = std::get<double>(field.value);
    }
  }
  return found;
}

std::size_t fetches(const Actions& actions) {
  std::size_t count = 0;
  for (const Action& action : actions) {
    const auto* send = std::get_if<action::Send>(&action);
    count += send != nullptr && send->frame.kind == FrameKind::fetch ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("three bad models in a row and their sender is ignored, the others are not") {
  Seat peer(pushed(3), {1, 1});
  CHECK_FALSE(said(peer.sent(1, 0, {kNaN, 1}), "bad weights"));
  CHECK_FALSE(said(peer.sent(1, 1, {1e6, 1}), "bad weights"));
  CHECK(said(peer.sent(1, 2, {1, -std::numeric_limits<float>::infinity()}), "bad weights"));
  CHECK(peer.model.w == std::vector<float>{1, 1});
  CHECK(peer.refused() == 3);
  peer.sent(1, 3, {3, 3});
  CHECK(peer.model.w == std::vector<float>{1, 1});
  CHECK(peer.refused() == 4);
  peer.sent(2, 0, {3, 3});
  CHECK(peer.model.w == std::vector<float>{2, 2});
}

TEST_CASE("a good model between bad ones ends the row") {
  Seat peer(pushed(3), {1, 1});
  for (std::uint64_t seq = 0; seq < 8; seq += 2) {
    CHECK_FALSE(said(peer.sent(1, seq, {kNaN, 1}), "bad weights"));
    peer.sent(1, seq + 1, {1, 1});
  }
  CHECK(peer.refused() == 4);
  CHECK(peer.applied() == 4);
}

TEST_CASE("an ignored sender is taken back after fifty merges that were due, and not before") {
  Strikes strikes;
  CHECK_FALSE(strikes.add(PeerId(1), 10));
  CHECK_FALSE(strikes.add(PeerId(1), 10));
  CHECK(strikes.add(PeerId(1), 10));
  CHECK(strikes.ignores(PeerId(1), 10));
  CHECK(strikes.ignores(PeerId(1), 59));
  CHECK_FALSE(strikes.ignores(PeerId(1), 60));
  CHECK_FALSE(strikes.ignores(PeerId(2), 10));
  CHECK(strikes.ignored(59) == 1);
  CHECK(strikes.total(PeerId(1)) == 3);
}

TEST_CASE("weights that came before are merged once, in any order") {
  Seat peer(pushed(3), {1, 1});
  peer.sent(1, 5, {3, 3});
  CHECK(peer.model.w == std::vector<float>{2, 2});
  peer.sent(1, 5, {3, 3});
  CHECK(peer.model.w == std::vector<float>{2, 2});
  peer.sent(1, 4, {3, 3});  // overtaken on the way
  CHECK(peer.model.w == std::vector<float>{2.5, 2.5});
  CHECK(peer.applied() == 2);

  SequenceWindow window;
  CHECK(window.take(100));
  CHECK(window.take(37));
  CHECK_FALSE(window.take(36));  // too old to know
  CHECK_FALSE(window.take(37));
  CHECK(window.take(1000));
  CHECK_FALSE(window.take(100));
  CHECK(window.take(999));
  CHECK_FALSE(window.take(1000));
}

TEST_CASE("a crowd rule holds models of distinct senders and merges their centre") {
  merge::Guards guards;
  guards.crowd = merge::CrowdRule{merge::CrowdRule::Kind::median, 3, 0};
  Seat peer(pushed(5, guards), {1, 1});
  peer.sent(1, 0, {2, 2});
  peer.sent(1, 1, {1, 1});  // in the place of its older one
  peer.sent(2, 0, {3, 3});
  CHECK(peer.model.w == std::vector<float>{1, 1});
  CHECK(peer.applied() == 0);
  peer.sent(3, 0, {-3, 4});  // {1, 1, 3, -3} and {1, 1, 3, 4}
  CHECK(peer.model.w == std::vector<float>{1, 1.5});
  CHECK(peer.applied() == 1);
}

TEST_CASE("a minority cannot widen the radius of clipping") {
  Displacements seen;
  CHECK(seen.clip_radius(0.5) == 1.0);  // nobody known: the own movement is the scale
  for (std::uint32_t from = 1; from <= 7; ++from) seen.add(PeerId(from), 1.0);
  for (int many = 0; many < 100; ++many) {
    seen.add(PeerId(8), 1e6);
    seen.add(PeerId(9), 1e6);
  }
  CHECK(seen.clip_radius(0.5) == 2.0);
}

TEST_CASE(
    "a gate halves alpha, and refuses what still costs loss; without probe set it lets pass") {
  merge::Guards guards;
  guards.gate_kappa = 1.0;
  Seat peer(pushed(3, guards), {1, 1});
  CHECK(std::isnan(decided(peer.sent(1, 0, {3, 3}), "eval_before")));
  CHECK(peer.model.w == std::vector<float>{2, 2});
  peer.model.own_losses = {1.0, 1.0, 1.0, 1.0};
  peer.model.tried_losses = {1.1, 1.3, 1.1, 1.3};  // a rise of 0.2, standard error 0.058
  Actions out = peer.sent(1, 1, {3, 3});
  CHECK(peer.model.w == std::vector<float>{2, 2});
  CHECK(peer.refused() == 1);
  CHECK(decided(out, "eval_before") == Approx(1.0));
  CHECK(decided(out, "eval_after") == Approx(1.2));
  peer.model.tried_losses = {1.0, 1.0, kNaN, 1.0};
  peer.sent(1, 2, {3, 3});
  CHECK(peer.refused() == 2);
  peer.model.tried_losses = {1.1, 0.9, 1.3, 0.8};  // a rise of 0.025, standard error 0.11
  out = peer.sent(1, 3, {4, 4});
  CHECK(peer.model.w == std::vector<float>{3, 3});
  CHECK(decided(out, "eval_after") == Approx(1.025));
}

TEST_CASE("a peer whose loss is not finite goes on with a neighbour's weights, at its own place") {
  Seat peer(pushed(3), {1, 1});
  for (int i = 0; i < 4; ++i) peer.on(kStep);
  Actions out = peer.on(input::StepDone{{1, std::nan(""), 0, 0.1}});
  CHECK(said(out, "own weights not finite"));
  CHECK(take<action::Train>(out).empty());
  CHECK(fetches(out) == 1);
  peer.model.w = {kNaN, 1};
  Frame model;
  for (Action& action : out) {
    auto* send = std::get_if<action::Send>(&action);
    if (send == nullptr || send->frame.kind != FrameKind::fetch) continue;
    model.from = send->frame.to;
    model.answers = send->frame.seq;
  }
  model.kind = FrameKind::model;
  model.mass = 0.9;
  model.values = peer.model.copy(std::vector<float>{7, 8});
  Actions again = peer.on(input::FrameIn{model});
  CHECK(peer.model.w == std::vector<float>{7, 8});
  CHECK(peer.protocol.counters().steps == 5);
  CHECK(take<action::Train>(again).size() == 1);
}

TEST_CASE("own weights that are found not to be finite in a merge are nobody else's fault") {
  Seat peer(pushed(3), {1, kNaN});
  const Actions out = peer.sent(1, 0, {1, 1});
  CHECK(said(out, "own weights not finite"));
  CHECK_FALSE(said(out, "bad weights"));
  CHECK(fetches(out) == 1);
}

TEST_CASE("weights that are not numbers from the start are never offered, and replaced") {
  GossipSettings s = pushed(3);
  s.blocks = {1.0, BlockMode::steps, 1, 10};  // a merge is due after every mini-batch
  Seat peer(s, {kNaN, kNaN});
  Actions out = peer.on(input::StepDone{{1, std::nan(""), 0, 0.1}});
  CHECK(said(out, "own weights not finite"));
  CHECK(fetches(out) == 1);
  for (const auto& send : take<action::Send>(out)) CHECK(send.frame.values == nullptr);
  Frame asked;  // a late joiner gets nothing of them either
  asked.kind = FrameKind::fetch;
  asked.from = PeerId(2);
  Actions answer = peer.on(input::FrameIn{asked});
  for (const auto& send : take<action::Send>(answer)) {
    CHECK(send.frame.kind == FrameKind::busy);
    CHECK(send.frame.values == nullptr);
  }
}

TEST_CASE("a peer to which it happens again and again has diverged; so has one that is alone") {
  Seat alone(pushed(1), {1, 1});
  CHECK(take<action::Finish>(
            *std::make_unique<Actions>(alone.on(input::StepDone{{1, std::nan(""), 0, 0.1}})))
            .size() == 1);
  Seat peer(pushed(2), {1, 1});
  for (std::uint32_t round = 0; round <= limits::kRestores; ++round) {
    Actions out = peer.on(input::StepDone{{1, std::nan(""), 0, 0.1}});
    CHECK(take<action::Finish>(out).size() == (round == limits::kRestores ? 1 : 0));
    for (auto& send : take<action::Send>(out)) {
      if (send.frame.kind != FrameKind::fetch) continue;
      Frame model;
      model.kind = FrameKind::model;
      model.from = send.frame.to;
      model.answers = send.frame.seq;
      model.values = peer.model.copy(std::vector<float>{1, 1});
      peer.on(input::FrameIn{model});
    }
  }
}
