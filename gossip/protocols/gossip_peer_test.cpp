// SPDX-License-Identifier: Apache-2.0
#include "gossip/protocols/gossip_peer.hpp"

#include <limits>

#include "gossip/limits.hpp"
#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using namespace std::chrono_literals;

namespace {

struct Seat {  // one peer at the table
  Seat(const GossipSettings& s, std::vector<float> w) : protocol(s), model(std::move(w)) {}
  Actions on(const Input& input, Time now = 1s) {
    Actions out;
    protocol.on(input, now, model, out);
    return out;
  }
  // Mini-batches until weights or control frames go out.
  std::vector<action::Send> train_until_send() {
    for (int i = 0; i < 100; ++i) {
      Actions out = on(input::StepDone{{1, 0.5, 1, 0.1}});
      auto sends = take<action::Send>(out);
      if (!sends.empty()) return sends;
    }
    return {};
  }

  GossipPeer protocol;
  TinyModel model;
};

}  // namespace

TEST_CASE("a pairwise exchange moves both sides by the same displacement and keeps the sum") {
  Seat a(settings(0, 2, ExchangeKind::pairwise), {1, 2, 3}),
      b(settings(1, 2, ExchangeKind::pairwise), {5, -2, 7});
  a.on(input::Start{});
  b.on(input::Start{});
  auto request = a.train_until_send();
  REQUIRE(request.size() == 1);
  REQUIRE(request[0].frame.kind == FrameKind::request);
  CHECK(request[0].frame.to == PeerId(1));

  Actions busy = b.on(input::FrameIn{request[0].frame});  // b is in a mini-batch: nothing moves yet
  CHECK(take<action::Send>(busy).empty());
  CHECK(b.model.w == std::vector<float>{5, -2, 7});
  a.model.w[0] += 10;  // a trains on meanwhile

  Actions boundary = b.on(input::StepDone{{1, 0.5, 1, 0.1}});
  auto replies = take<action::Send>(boundary);
  REQUIRE_FALSE(replies.empty());
  REQUIRE(replies[0].frame.kind == FrameKind::reply);
  CHECK(b.model.w == std::vector<float>{3, 0, 5});
  a.on(input::FrameIn{replies[0].frame});
  a.on(input::StepDone{{1, 0.5, 1, 0.1}});
  CHECK(a.model.w == std::vector<float>{13, 0, 5});  // 1 + 10 + 0.5 (5 - 1)
}

TEST_CASE("a refused request leaves both sides untouched and frees the initiator") {
  Seat a(settings(0, 2, ExchangeKind::pairwise), {1, 2}),
      b(settings(1, 2, ExchangeKind::pairwise), {5, 6});
  a.on(input::Start{});
  b.on(input::Start{});
  a.model.w[1] = std::numeric_limits<float>::quiet_NaN();
  auto request = a.train_until_send();
  b.on(input::FrameIn{request.at(0).frame});
  Actions out = b.on(input::StepDone{{1, 0.5, 1, 0.1}});
  auto answers = take<action::Send>(out);
  REQUIRE_FALSE(answers.empty());
  CHECK(answers[0].frame.kind == FrameKind::busy);
  CHECK(b.model.w == std::vector<float>{5, 6});
  CHECK(b.protocol.counters().merges_refused == 1);
  a.model.w[1] = 2;
  a.on(input::FrameIn{answers[0].frame});
  CHECK_FALSE(a.train_until_send().empty());  // the next exchange may start
}

TEST_CASE("push moves the receiver alone") {
  Seat a(settings(0, 2, ExchangeKind::push), {1, 2}), b(settings(1, 2, ExchangeKind::push), {5, 6});
  a.on(input::Start{});
  b.on(input::Start{});
  auto sends = a.train_until_send();
  b.on(input::FrameIn{sends.at(0).frame});
  Actions out = b.on(input::StepDone{{1, 0.5, 1, 0.1}});
  CHECK(b.model.w == std::vector<float>{3, 4});
  CHECK(a.model.w == std::vector<float>{1, 2});
  for (const auto& send : take<action::Send>(out))
    CHECK(send.frame.kind == FrameKind::push);  // no answer
}

TEST_CASE("push-sum halves the sender's mass and weighs the receiver's move by it") {
  Seat a(settings(0, 2, ExchangeKind::push_sum), {1, 2}),
      b(settings(1, 2, ExchangeKind::push_sum), {4, 5});
  a.on(input::Start{});
  b.on(input::Start{});
  auto sends = a.train_until_send();
  CHECK(a.protocol.counters().mass == 0.5);
  CHECK(sends.at(0).frame.mass == 0.5);
  b.on(input::FrameIn{sends[0].frame});
  b.on(input::StepDone{{1, 0.5, 1, 0.1}});
  CHECK(b.model.w[0] == Approx(4 + (1 - 4) / 3.0));  // alpha = 0.5 / 1.5
  // b has 1.5 before it may have sent half of it on in the same turn
  CHECK((b.protocol.counters().mass == 1.5 || b.protocol.counters().mass == 0.75));
}

TEST_CASE("push-sum: who only sends keeps a share of its mass, but does not fall silent for ever") {
  auto s = settings(0, 2, ExchangeKind::push_sum);
  s.blocks.epochs = 1'000'000;
  Seat a(s, {1, 2});
  a.on(input::Start{});
  const double usual_share = 1.0 / (64.0 * 2.0);
  int first_pause = 0, pushes = 0, pushes_since_half_time = 0;
  for (int i = 0; i < 20'000; ++i) {
    Actions out = a.on(input::StepDone{{1, 0.5, 1, 0.1}});
    for (const auto& send : take<action::Send>(out)) {
      if (send.frame.kind != FrameKind::push) continue;
      ++pushes;
      pushes_since_half_time += i > 10'000;
    }
    const bool is_low = a.protocol.counters().mass < usual_share;
    if (is_low && first_pause == 0) first_pause = pushes;
    CHECK(a.protocol.counters().mass > 0.0);
  }
  CHECK(first_pause == 8);  // 2^-8 is the first below 2^-7
  CHECK(pushes > first_pause);
  CHECK(pushes_since_half_time > 0);
}

TEST_CASE("with wait the initiator trains on only after the partner has answered") {
  auto s = settings(0, 2, ExchangeKind::pairwise);
  s.wait = true;
  Seat a(s, {1, 2});
  a.on(input::Start{});
  std::vector<action::Send> sends;
  bool trains = true;
  for (int i = 0; i < 100 && sends.empty(); ++i) {
    Actions out = a.on(input::StepDone{{1, 0.5, 1, 0.1}});
    trains = !take<action::Train>(out).empty();
    sends = take<action::Send>(out);
  }
  REQUIRE(sends.size() == 1);
  CHECK_FALSE(trains);
  Frame reply = sends[0].frame;
  reply.kind = FrameKind::reply;
  std::swap(reply.from, reply.to);
  reply.answers = sends[0].frame.seq;
  reply.alpha = 0.5;
  reply.values = a.model.copy(std::vector<float>{3, 4});
  Actions out = a.on(input::FrameIn{reply});
  CHECK(a.model.w == std::vector<float>{2, 3});
  CHECK(take<action::Train>(out).size() == 1);
}

TEST_CASE("two peers that wait for each other still serve each other") {
  auto s0 = settings(0, 2, ExchangeKind::pairwise), s1 = settings(1, 2, ExchangeKind::pairwise);
  s0.wait = s1.wait = true;
  Seat a(s0, {0, 0}), b(s1, {4, 8});
  a.on(input::Start{});
  b.on(input::Start{});
  auto from_a = a.train_until_send(), from_b = b.train_until_send();
  Actions at_b = b.on(input::FrameIn{from_a.at(0).frame}),
          at_a = a.on(input::FrameIn{from_b.at(0).frame});
  auto reply_b = take<action::Send>(at_b), reply_a = take<action::Send>(at_a);
  REQUIRE(reply_b.at(0).frame.kind == FrameKind::reply);
  REQUIRE(reply_a.at(0).frame.kind == FrameKind::reply);
  Actions end_a = a.on(input::FrameIn{reply_b[0].frame}),
          end_b = b.on(input::FrameIn{reply_a[0].frame});
  CHECK(take<action::Train>(end_a).size() == 1);
  CHECK(take<action::Train>(end_b).size() == 1);
  CHECK(a.model.w[0] + b.model.w[0] == Approx(4));  // the crossed exchanges keep the sum
}

TEST_CASE(
    "an unanswered exchange ends at its deadline, is logged as half, and the partner is left "
    "alone") {
  Seat a(settings(0, 2, ExchangeKind::pairwise), {1, 2});
  Actions out = a.on(input::Start{});
  std::vector<action::SetTimer> timers;
  for (int i = 0; i < 100 && timers.empty(); ++i) {
    out = a.on(input::StepDone{{1, 0.5, 1, 0.1}});
    timers = take<action::SetTimer>(out);
  }
  REQUIRE(timers.size() == 3);  // quiet, altogether, overdue
  CHECK(timers[0].at == 1s + limits::kQuietFirst);
  CHECK(timers[0].quiet_with == PeerId(1));
  CHECK(timers[1].at == 1s + limits::kExchangeMost);
  out = a.on(input::Timer{timers[0].id}, timers[0].at);
  CHECK(recorded(out, "merge.half"));
  CHECK(recorded(out, "peer.lost"));
  CHECK(a.model.w == std::vector<float>{1, 2});
  for (const auto& send : a.train_until_send())
    CHECK(send.frame.kind == FrameKind::finished);  // no partner left
}

namespace {

// A peer at (1, 2) that merges every `interval` mini-batches or so, and has asked once.
struct Asked {
  explicit Asked(std::uint32_t peers, double interval = 2.0)
      : seat(with(peers, interval), {1, 2}), most(static_cast<int>(10.0 * interval)) {
    seat.on(input::Start{});
    next(1s);
  }
  static GossipSettings with(std::uint32_t peers, double interval) {
    GossipSettings s = settings(0, peers, ExchangeKind::pairwise);
    s.blocks = {interval, BlockMode::shifted, 1, 1000};
    return s;
  }
  // Trains until the next question, for `most` mini-batches. Whether there was one.
  bool next(Time now) {
    for (int i = 0; i < most; ++i) {
      Actions out = seat.on(input::StepDone{{1, 0.5, 1, 0.1}}, now);
      ++steps;
      blocks += recorded(out, "block.finished") ? 1 : 0;
      halves += recorded(out, "merge.half") ? 1 : 0;
      lost = lost || recorded(out, "peer.lost");
      for (auto& each : take<action::Send>(out)) {
        if (each.frame.kind == FrameKind::request) questions.push_back(each.frame);
      }
      const auto set = take<action::SetTimer>(out);
      if (set.empty()) continue;
      timers.push_back(set);
      return true;
    }
    return false;
  }
  Actions answer(std::size_t question, std::vector<float> weights, Time now) {
    Frame reply;
    reply.kind = FrameKind::reply;
    reply.from = questions[question].to;
    reply.seq = 100 + question;
    reply.answers = questions[question].seq;
    reply.alpha = 0.5;
    reply.values = seat.model.copy(weights);
    return seat.on(input::FrameIn{reply}, now);
  }
  // The weights after the boundary that follows this answer.
  std::vector<float> after_answer(std::size_t question, std::vector<float> weights, Time now) {
    answer(question, std::move(weights), now);
    seat.on(input::StepDone{{1, 0.5, 1, 0.1}}, now);
    return seat.model.w;
  }
  void overdue(std::size_t question, Time now) {
    seat.on(input::Timer{timers[question].at(2).id}, now);
  }
  // Asked at 1 s; after that each 20 ms later, when the one before is overdue.
  void leave_three_open() {
    for (std::size_t question = 0; question < 3; ++question) {
      const Time now = 1020ms + static_cast<int>(question) * 20ms;
      overdue(question, now);
      REQUIRE(next(now));
    }
  }
  Seat seat;
  int most;
  std::vector<Frame> questions;
  std::vector<std::vector<action::SetTimer>> timers;  // [question]: quiet, altogether, overdue
  int steps = 0, blocks = 0, halves = 0;
  bool lost = false;
};

}  // namespace

TEST_CASE("an overdue answer holds up no other merge, and is welcome when it comes after all") {
  Asked a(3);
  REQUIRE(a.questions.size() == 1);
  CHECK_FALSE(a.next(1s));  // merges are due, and wait
  REQUIRE(a.timers[0].size() == 3);
  CHECK(a.timers[0][2].quiet_with == a.timers[0][0].quiet_with);
  a.overdue(0, 1500ms);
  REQUIRE(a.next(1500ms));
  CHECK(a.halves == 0);
  CHECK_FALSE(a.lost);
  CHECK(a.seat.protocol.counters().merges_started == 2);
  CHECK(a.after_answer(0, {3, 2}, 1600ms) == std::vector<float>{2, 2});
  CHECK(a.after_answer(1, {1, 4}, 1700ms) == std::vector<float>{2, 3});
  // Its deadline says nothing any more.
  Actions out = a.seat.on(input::Timer{a.timers[0][0].id}, 3s);
  CHECK(take<action::Record>(out).empty());
}

TEST_CASE("of several overdue answers the newest are welcome, the oldest comes to nothing") {
  Asked a(8);  // asked at 1 s
  a.leave_three_open();
  a.overdue(3, 1080ms);
  CHECK_FALSE(a.next(1090ms));  // the first may still be on its way
  REQUIRE(a.next(1200ms));
  CHECK(a.halves == 1);
  CHECK_FALSE(a.lost);
  a.answer(0, {9, 9}, 1310ms);
  CHECK(a.after_answer(1, {3, 2}, 1310ms) == std::vector<float>{2, 2});
  CHECK(a.after_answer(2, {1, 4}, 1310ms) == std::vector<float>{2, 3});
  // From (1, 2), where it was asked, it would be half of (3, 1).
  CHECK(a.after_answer(3, {4, 3}, 1310ms) == std::vector<float>{3, 3});
  CHECK(a.seat.protocol.counters().merges_applied == 3);
}

TEST_CASE("an answer to what gave way for newer ones says how long answers take, once") {
  Asked a(8);  // asked at 1 s
  a.leave_three_open();
  a.overdue(3, 1080ms);
  REQUIRE(a.next(1200ms));  // the first has given way
  const auto deadlines = [&] {
    Archive kept;
    a.seat.protocol.state(kept);
    return kept.json().at("exchange").at("deadlines");
  };
  CHECK(deadlines().at("recent").empty());
  CHECK(deadlines().at("overdue_in_a_row") == 4);
  for (const int time : {1, 2}) {
    CAPTURE(time);
    a.answer(0, {9, 9}, 1310ms);
    CHECK_FALSE(recorded(a.seat.on(input::StepDone{{1, 0.5, 1, 0.1}}, 1310ms), "fault.seen"));
    CHECK(deadlines().at("recent").size() == 1);
    CHECK(deadlines().at("recent").at(0) == 310'000'000);
  }
  CHECK(deadlines().at("overdue_in_a_row") == 0);
}

TEST_CASE("a merge that comes to nothing is made up for, and not twice when it is answered late") {
  Asked a(4, 50.0);
  const int steps = a.steps;
  a.overdue(0, 1500ms);
  REQUIRE(a.next(1500ms));
  CHECK(a.steps == steps + 1);  // at the next boundary, wherever in its block
  a.answer(0, {3, 2}, 1600ms);
  a.answer(1, {1, 4}, 1600ms);
  const int blocks = a.blocks;
  REQUIRE(a.next(1700ms));
  CHECK(a.blocks == blocks + 2);  // one merge that was due had been made before
}

TEST_CASE(
    "a loss that is not finite stops a peer that nobody helps: it says goodbye, offers nothing") {
  Seat a(settings(0, 3, ExchangeKind::pairwise), {1, 2});
  a.on(input::Start{});
  Actions out = a.on(input::StepDone{{1, std::nan(""), 0, 0.1}});
  CHECK(recorded(out, "fault.seen"));
  for (int donor = 0; donor < 2; ++donor) {
    const auto asks = take<action::Send>(out);
    REQUIRE(asks.size() == 1);
    REQUIRE(asks[0].frame.kind == FrameKind::fetch);
    CHECK(asks[0].frame.values == nullptr);
    Frame busy;
    busy.kind = FrameKind::busy;
    busy.from = asks[0].frame.to;
    busy.answers = asks[0].frame.seq;
    out = a.on(input::FrameIn{busy});
  }
  const auto ends = take<action::Finish>(out);
  REQUIRE(ends.size() == 1);
  CHECK_FALSE(ends[0].alive);
  for (const auto& send : take<action::Send>(out)) {
    CHECK(send.frame.kind == FrameKind::left);
    CHECK(send.frame.values == nullptr);
  }
  CHECK(a.on(input::StepDone{{1, 0.5, 1, 0.1}}).empty());
}

TEST_CASE("a peer alone trains its budget and leaves") {
  Seat a(settings(0, 1, ExchangeKind::pairwise), {1, 2});
  Actions out = a.on(input::Start{});
  int steps = 0;
  while (!take<action::Train>(out).empty()) {
    out = a.on(input::StepDone{{1, 0.5, 1, 0.1}});
    ++steps;
  }
  CHECK(steps == 5);
  CHECK(take<action::Finish>(out).size() == 1);
  CHECK(a.model.w == std::vector<float>{1, 2});
}

TEST_CASE("frames of every kind at any time never break a peer") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  CAPTURE(seed);
  auto rng = hearsay::kernels::Rng::stream(seed, "frame-storm");
  for (const ExchangeKind kind :
       {ExchangeKind::pairwise, ExchangeKind::push, ExchangeKind::push_sum}) {
    auto s = settings(0, 4, kind);
    s.until_converged = rng.below(2) == 1;
    s.end_game_rounds = rng.below(3);
    s.late = rng.below(3) == 0;
    Seat a(s, {1, 2, 3});
    bool in_step = !take<action::Train>(*std::make_unique<Actions>(a.on(input::Start{}))).empty();
    for (int i = 0; i < 3000; ++i) {
      Actions out;
      if (in_step && rng.below(3) == 0) {
        in_step = false;
        out = a.on(input::StepDone{{1, 0.5, 1, 0.1}});
      } else if (rng.below(20) == 0) {
        const std::uint64_t any = rng.below(8);
        out =
            a.on(input::Timer{any < 6 ? any : ~std::uint64_t{0} - (any - 6)}, Time(i) * 1'000'000);
      } else if (rng.below(50) == 0) {
        out = a.on(input::PeerDown{PeerId(1 + rng.below(3))});
      } else {
        Frame frame;
        frame.kind = static_cast<FrameKind>(rng.below(12));
        // `left` would end the pool at once
        if (frame.kind == FrameKind::left) frame.kind = FrameKind::model;
        frame.from = PeerId(1 + rng.below(3));
        frame.seq = rng.below(6);
        frame.answers = rng.below(6);
        frame.mass = rng.uniform();
        frame.alpha = rng.uniform() * 1.2 - 0.1;
        frame.end_game = rng.below(10) == 0;
        frame.converged = rng.below(30) == 0;
        frame.votes = {{PeerId(rng.below(9)), rng.below(9)}};
        frame.pulses = {{PeerId(1 + rng.below(8)), rng.below(2), rng.below(9)}};
        const bool weights = frame.kind == FrameKind::push || frame.kind == FrameKind::request ||
                             frame.kind == FrameKind::reply || frame.kind == FrameKind::returned ||
                             frame.kind == FrameKind::model;
        if (weights) frame.values = a.model.copy(std::vector<float>{1, 1, 1});
        out = a.on(input::FrameIn{frame});
      }
      const auto trains = take<action::Train>(out).size();
      REQUIRE(trains + (in_step ? 1 : 0) <= 1);  // never two mini-batches at once
      in_step = in_step || trains == 1;
    }
    for (const float w : a.model.w) CHECK(std::isfinite(w));
  }
}
