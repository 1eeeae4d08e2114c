// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using hearsay::kernels::PeerId;

namespace {

// Blocks of at least one epoch of two steps; `self` of `peers` finds out who is alike.
GossipSettings searching(std::uint32_t self, std::uint32_t peers) {
  GossipSettings s = settings(self, peers, ExchangeKind::pairwise);
  s.blocks = {4.0, BlockMode::shifted, 2, 50};
  s.communities = std::make_shared<const CommunityPlan>();
  return s;
}

struct Driven {
  explicit Driven(const GossipSettings& s) : peer(s) { model.moved = {1.0f, 2.0f}; }
  Actions on(const Input& input) {
    Actions out;
    peer.on(input, Time(++now), model, out);
    return out;
  }
  std::vector<Frame> sent(const Input& input, FrameKind kind) {
    Actions out = on(input);
    std::vector<Frame> frames;
    for (action::Send& send : take<action::Send>(out)) {
      if (send.frame.kind == kind) frames.push_back(std::move(send.frame));
    }
    return frames;
  }
  TinyModel model{{1.0f, 2.0f}};
  GossipPeer peer;
  std::int64_t now = 0;
};

const input::StepDone kStep{{1, 1.0, 1, 0.1}};

Frame question(std::uint32_t from, std::vector<Sketch> sketches) {
  Frame frame;
  frame.kind = FrameKind::ping;
  frame.from = PeerId(from);
  frame.to = PeerId(0);
  frame.sketches = std::move(sketches);
  return frame;
}

}  // namespace

TEST_CASE("after an epoch a peer asks three strangers, and nobody whom it knows") {
  Driven peer(searching(0, 6));
  peer.on(input::Start{});
  CHECK(peer.sent(kStep, FrameKind::ping).empty());
  const auto asked = peer.sent(kStep, FrameKind::ping);
  REQUIRE(asked.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(asked[i].to == PeerId(i + 1));
    REQUIRE(asked[i].sketches.size() == 1);
    CHECK(asked[i].sketches[0].peer == PeerId(0));
  }
  // Peers 1 to 3 are told of by one of them; 4 and 5 are left.
  std::vector<Sketch> told;
  for (std::uint32_t i = 1; i < 4; ++i) told.push_back({PeerId(i), 1, asked[0].sketches[0].values});
  Frame answer = question(1, told);
  answer.kind = FrameKind::pong;
  CHECK(peer.on(input::FrameIn{answer}).empty());
  peer.on(kStep);
  const auto rest = peer.sent(kStep, FrameKind::ping);
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].to == PeerId(4));
  CHECK(rest[1].to == PeerId(5));
  CHECK(rest[0].sketches.size() == 4);
}

TEST_CASE("a question with sketches is answered with those that are known, another without") {
  Driven peer(searching(0, 3)), other(searching(1, 3));
  for (Driven* each : std::array{&peer, &other}) each->on(input::Start{});
  other.on(kStep);
  const auto asked = other.sent(kStep, FrameKind::ping);
  REQUIRE(asked.size() == 2);
  CHECK(asked[1].to == PeerId(0));  // from the next place on
  // Nothing of its own yet, and nothing but what the asker said.
  auto answers = peer.sent(input::FrameIn{asked[1]}, FrameKind::pong);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].sketches.empty());
  peer.on(kStep);
  peer.on(kStep);
  answers = peer.sent(input::FrameIn{question(2, {{PeerId(2), 1, asked[1].sketches[0].values}})},
                      FrameKind::pong);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].sketches.size() == 1);  // of peer 1: the own one went out with the question
  CHECK(answers[0].sketches[0].peer == PeerId(1));
  answers = peer.sent(input::FrameIn{question(2, {})}, FrameKind::pong);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].sketches.empty());
}

TEST_CASE("a pool that shares no sketches asks nobody") {
  GossipSettings plain = searching(0, 3);
  plain.communities = nullptr;
  Driven peer(plain);
  peer.on(input::Start{});
  for (int step = 0; step < 2; ++step) CHECK(peer.sent(kStep, FrameKind::ping).empty());
}
