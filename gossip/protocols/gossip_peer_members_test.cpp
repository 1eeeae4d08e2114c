// SPDX-License-Identifier: Apache-2.0
// Late joiners, donors, heartbeats, and going on from a checkpoint.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gossip/limits.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using namespace std::chrono_literals;

namespace {

const input::StepDone kStep{{1, 0.5, 1, 0.1}};

struct Seat {
  Seat(const GossipSettings& s, std::vector<float> w) : protocol(s), model(std::move(w)) {}
  Actions on(const Input& input, Time now = 1s) {
    Actions out;
    protocol.on(input, now, model, out);
    return out;
  }
  GossipPeer protocol;
  TinyModel model;
};

GossipSettings late(std::uint32_t self, std::uint32_t peers) {
  GossipSettings s = settings(self, peers, ExchangeKind::pairwise);
  s.late = true;
  s.incarnation = 1;
  return s;
}

std::vector<Frame> frames_of(Actions out, FrameKind kind) {
  std::vector<Frame> frames;
  for (auto& send : take<action::Send>(out)) {
    if (send.frame.kind == kind) frames.push_back(std::move(send.frame));
  }
  return frames;
}

Frame model_for(const Frame& fetch, const std::vector<float>& values, double progress) {
  Frame frame;
  frame.kind = FrameKind::model;
  frame.from = fetch.to;
  frame.to = fetch.from;
  frame.answers = fetch.seq;
  frame.mass = progress;
  frame.samples = 300;
  auto snapshot = std::make_shared<hearsay::merge::Snapshot>();
  snapshot->values = hearsay::kernels::Buffer<float>(values.size());
  std::copy(values.begin(), values.end(), snapshot->values.data());
  frame.values = snapshot;
  return frame;
}

}  // namespace

TEST_CASE("a late joiner begins with a donor's weights, at the donor's point of the schedule") {
  Seat joiner(late(0, 2), {0, 0});
  Seat donor(settings(1, 2, ExchangeKind::pairwise), {3, 4});
  donor.on(input::Start{});
  for (int i = 0; i < 3; ++i) donor.on(kStep);  // of 5
  Actions start = joiner.on(input::Start{});
  CHECK(take<action::Train>(start).empty());
  const auto fetch = frames_of(start, FrameKind::fetch);
  REQUIRE(fetch.size() == 1);

  CHECK(
      frames_of(donor.on(input::FrameIn{fetch[0]}), FrameKind::model).empty());  // in a mini-batch
  donor.model.w = {5, 6};  // which changes the weights
  const auto model = frames_of(donor.on(kStep), FrameKind::model);
  REQUIRE(model.size() == 1);
  CHECK(model[0].mass == Approx(0.8));

  Actions began = joiner.on(input::FrameIn{model[0]});
  CHECK(joiner.model.w == std::vector<float>{5, 6});
  CHECK(joiner.model.steps_behind == 4);
  CHECK(joiner.protocol.counters().steps == 4);
  CHECK(joiner.protocol.counters().samples == 4);
  CHECK(joiner.protocol.counters().inherited_samples == 4);
  CHECK(recorded(began, "state.adopted"));
  CHECK(take<action::Train>(began).size() == 1);
  Actions last = joiner.on(kStep);
  CHECK(take<action::Train>(last).empty());  // 5 of 5
}

TEST_CASE(
    "a donor that dies, refuses, sends nonsense or falls silent costs a question to another") {
  Seat joiner(late(0, 6), {0, 0});
  Actions out = joiner.on(input::Start{});
  std::vector<PeerId> asked;
  for (int round = 0; round < 5; ++round) {
    const auto fetch = frames_of(out, FrameKind::fetch);
    REQUIRE(fetch.size() == 1);
    CHECK(std::count(asked.begin(), asked.end(), fetch[0].to) == 0);
    asked.push_back(fetch[0].to);
    CHECK(joiner.model.w == std::vector<float>{0, 0});
    if (round == 0) {
      out = joiner.on(input::PeerDown{fetch[0].to});
    } else if (round == 1) {
      Frame busy;
      busy.kind = FrameKind::busy;
      busy.from = fetch[0].to;
      busy.answers = fetch[0].seq;
      out = joiner.on(input::FrameIn{busy});
    } else if (round == 2) {
      out = joiner.on(
          input::FrameIn{model_for(fetch[0], {1, std::numeric_limits<float>::quiet_NaN()}, 0.5)});
    } else if (round == 3) {
      const auto timers = take<action::SetTimer>(out);
      REQUIRE(timers.size() == 1);
      CHECK(timers[0].quiet_with == fetch[0].to);
      CHECK(timers[0].patience == 8 * Time(limits::kQuietFirst));  // after three failures
      out = joiner.on(input::Timer{timers[0].id});
      // Its answer comes after all, too late: the next one has been asked.
      Actions late_answer = joiner.on(input::FrameIn{model_for(fetch[0], {8, 8}, 0.5)});
      CHECK(take<action::Train>(late_answer).empty());
      CHECK(joiner.model.w == std::vector<float>{0, 0});
    } else {
      out = joiner.on(input::FrameIn{model_for(fetch[0], {1, 2}, 0.5)});
    }
    if (round < 4) CHECK(recorded(out, "fault.seen"));
  }
  CHECK(joiner.model.w == std::vector<float>{1, 2});
  CHECK(take<action::Train>(out).size() == 1);
}

TEST_CASE("a joiner has nothing to offer before its weights are there") {
  Seat joiner(late(0, 3), {0, 0});
  joiner.on(input::Start{});
  Frame request = model_for(Frame{}, {7, 7}, 0.5);
  request.kind = FrameKind::request;
  request.from = PeerId(2);
  request.to = PeerId(0);
  request.seq = 9;
  const auto busy = frames_of(joiner.on(input::FrameIn{request}), FrameKind::busy);
  REQUIRE(busy.size() == 1);
  CHECK(busy[0].answers == 9);
  Frame fetch;
  fetch.kind = FrameKind::fetch;
  fetch.from = PeerId(1);
  fetch.to = PeerId(0);
  fetch.seq = 4;
  CHECK(frames_of(joiner.on(input::FrameIn{fetch}), FrameKind::busy).size() == 1);
  CHECK(joiner.model.w == std::vector<float>{0, 0});
}

TEST_CASE("whoever can reach nobody begins with its own weights, after a while") {
  Seat joiner(late(0, 2), {1, 2});
  joiner.on(input::Start{}, 0s);
  joiner.on(input::PeerDown{PeerId(1)}, 1s);
  bool trains = false;
  Time now = 1s;
  for (; now < 60s && !trains; now += 1s) {
    Actions out = joiner.on(input::Timer{~std::uint64_t{0} - 1}, now);  // a beat
    trains = !take<action::Train>(out).empty();
  }
  CHECK(trains);
  CHECK((now > Time(limits::kJoinAlone) && now < Time(limits::kJoinAlone) + 3s));
}

TEST_CASE("a peer that sends nothing else beats once a second, and asks those it cannot reach") {
  Seat a(settings(0, 3, ExchangeKind::pairwise), {1});
  a.on(input::Start{}, 0s);
  a.on(input::PeerDown{PeerId(2)}, 0s);
  int to_1 = 0, to_2 = 0;
  for (Time now = 1s; now <= 60s; now += 1s) {
    Frame sign;  // p01 is alive
    sign.from = PeerId(1);
    sign.kind = FrameKind::pong;
    a.on(input::FrameIn{sign}, now);
    Actions out = a.on(input::Timer{~std::uint64_t{0} - 1}, now);
    CHECK(take<action::SetTimer>(out).size() == 1);
    for (const Frame& ping : frames_of(out, FrameKind::ping)) {
      ++(ping.to == PeerId(1) ? to_1 : to_2);
      REQUIRE(ping.pulses.size() == 3);
      CHECK(ping.pulses[0].peer == PeerId(0));
      CHECK(ping.pulses[0].beat == static_cast<std::uint32_t>(now / 1s));
    }
  }
  CHECK(to_2 >= 5);
  CHECK(to_2 <= 9);
  CHECK(to_1 >= 40);
}

TEST_CASE("a peer whose place has been taken leaves") {
  Seat a(settings(0, 3, ExchangeKind::pairwise), {1});
  a.on(input::Start{});
  Frame frame;
  frame.kind = FrameKind::pong;
  frame.from = PeerId(1);
  frame.pulses = {{PeerId(1), 0, 3}, {PeerId(0), 1, 2}};
  Actions out = a.on(input::FrameIn{frame});
  const auto ends = take<action::Finish>(out);
  REQUIRE(ends.size() == 1);
  CHECK_FALSE(ends[0].alive);
  CHECK(ends[0].reason == "superseded");
}

TEST_CASE("weights of a later start are numbered apart from those of the earlier one") {
  GossipSettings s = settings(0, 2, ExchangeKind::push);
  s.incarnation = 3;
  Seat a(s, {1});
  Actions out = a.on(input::Start{});
  for (int i = 0; i < 5; ++i) {
    out = a.on(kStep);
    for (const Frame& frame : frames_of(out, FrameKind::push)) CHECK(frame.seq >> 32 == 3);
  }
}

TEST_CASE("a peer that goes on from its state trains the rest of its budget") {
  const auto kind = GENERATE(ExchangeKind::pairwise, ExchangeKind::push, ExchangeKind::push_sum);
  const int before = GENERATE(0, 1, 2, 3, 4, 5);
  GossipSettings s = settings(0, 1, kind);
  Seat first(s, {1, 2});
  Actions out = first.on(input::Start{});
  for (int i = 0; i < before; ++i) out = first.on(kStep);
  Archive kept;
  first.protocol.state(kept);

  s.incarnation = 1;
  Seat second(s, {1, 2});
  Archive loaded(kept.json(), kept.arrays());
  second.protocol.state(loaded);
  int steps = 0;
  if (before == 5) {  // it had left
    CHECK(take<action::Finish>(out).size() == 1);
    return;
  }
  out = second.on(input::Start{}, 9s);
  CHECK(recorded(out, "peer.joined"));
  while (!take<action::Train>(out).empty()) {
    out = second.on(kStep, 9s);
    ++steps;
  }
  CHECK(steps == 5 - before);
  CHECK(take<action::Finish>(out).size() == 1);
}

TEST_CASE("an exchange that fails half-way leaves the weights as they were") {
  const auto kind = GENERATE(ExchangeKind::pairwise, ExchangeKind::push_sum);
  Seat a(settings(0, 2, kind), {1, 2});
  a.on(input::Start{});
  std::vector<action::SetTimer> timers;
  std::vector<Frame> sent;
  for (int i = 0; i < 5 && sent.empty(); ++i) {
    Actions out = a.on(kStep);
    timers = take<action::SetTimer>(out);
    sent = frames_of(out, kind == ExchangeKind::pairwise ? FrameKind::request : FrameKind::push);
  }
  REQUIRE(sent.size() == 1);
  if (!timers.empty()) {
    Actions half = a.on(input::Timer{timers[0].id}, 3s);
    CHECK(recorded(half, "merge.half"));
  }
  Frame reply = model_for(sent[0], {9, 9}, 0.5);  // comes too late
  reply.kind = FrameKind::reply;
  reply.alpha = 0.5;
  if (kind == ExchangeKind::pairwise) {
    a.on(input::FrameIn{reply}, 3s);
    a.on(kStep, 3s);
  }
  CHECK(a.model.w == std::vector<float>{1, 2});
}
