// SPDX-License-Identifier: Apache-2.0
// Weights that travel in a codec: who moves by how much, what a message that cannot be read leaves
// behind, and what is kept of it all.
#include <limits>

#include "gossip/codec/plan.hpp"
#include "gossip/protocols/gossip_peer.hpp"
#include "gossip/protocols/testkit.hpp"
#include "gossip/protocols/testkit_codec.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using namespace std::chrono_literals;
namespace merge = hearsay::merge;

namespace {

const input::StepDone kStep{{1, 0.5, 1, 0.1}};

GossipSettings with_codec(std::uint32_t self, ExchangeKind kind, bool mirrors) {
  GossipSettings s = settings(self, 2, kind);
  s.blocks = {2.0, BlockMode::shifted, 1, 1000};
  s.codec = std::make_shared<const HalfPlan>(4, mirrors);
  return s;
}

struct Seat {
  Seat(const GossipSettings& s, std::vector<float> w) : protocol(s), model(std::move(w)) {}
  Actions on(const Input& input, Time now = 1s) {
    Actions out;
    protocol.on(input, now, model, out);
    return out;
  }
  Frame train_until_weights(Actions* all = nullptr) {
    for (int i = 0; i < 100; ++i) {
      Actions out = on(kStep);
      for (Action& action : out) {
        auto* send = std::get_if<action::Send>(&action);
        if (send == nullptr || !send->frame.carries_weights()) continue;
        Frame frame = send->frame;
        if (all != nullptr) *all = std::move(out);
        return frame;
      }
    }
    FAIL("nothing was sent");
    return {};
  }
  std::vector<Frame> take_in(const Frame& frame, Actions* all = nullptr) {  // at the next boundary
    on(input::FrameIn{frame});
    Actions out = on(kStep);
    std::vector<Frame> frames;
    for (const Action& action : out) {
      if (const auto* send = std::get_if<action::Send>(&action)) frames.push_back(send->frame);
    }
    if (all != nullptr) *all = std::move(out);
    return frames;
  }

  GossipPeer protocol;
  TinyModel model;
};

struct Pair {
  Pair(ExchangeKind kind, bool mirrors)
      : a(with_codec(0, kind, mirrors), {1.25f, 2.5f, 3.25f, 4}),
        b(with_codec(1, kind, mirrors), {5.5f, -2, 7.75f, 8}) {
    a.on(input::Start{});
    b.on(input::Start{});
  }
  Seat a, b;
};

Frame packed_frame(FrameKind kind, std::uint64_t seq, std::vector<std::uint8_t> bytes) {
  Frame frame;
  frame.kind = kind;
  frame.from = PeerId(1);
  frame.to = PeerId(0);
  frame.seq = seq;
  frame.packed = std::make_shared<const merge::Packed>(merge::Packed{std::move(bytes)});
  return frame;
}

// Asks without its codec, and answers in it.
class ShyCodec final : public HalfCodec {
 public:
  ShyCodec() : HalfCodec(4, true, 1.0f) {}
  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override {
    return like != nullptr ? HalfCodec::encode(weights, like) : nullptr;
  }
};

class ShyPlan final : public HalfPlan {
 public:
  ShyPlan() : HalfPlan(4, true) {}
  std::unique_ptr<Codec> make(PeerId) const override { return std::make_unique<ShyCodec>(); }
  bool also_raw() const override { return true; }
};

const FieldValue* field_of(const Actions& actions, std::string_view event, std::string_view key) {
  for (const Action& action : actions) {
    const auto* record = std::get_if<action::Record>(&action);
    if (record == nullptr || record->event.name != event) continue;
    for (const Field& field : record->event.fields) {
      if (field.key == key) return &field.value;
    }
  }
  return nullptr;
}

std::string text_of(const Actions& actions, std::string_view event, std::string_view key) {
  const FieldValue* const value = field_of(actions, event, key);
  return value != nullptr ? std::get<std::string>(*value) : "";
}

Archive::Json kept(Seat& seat, Archive::Arrays& arrays) {
  Archive archive;
  archive("protocol", seat.protocol);
  arrays = archive.arrays();
  return archive.json();
}

}  // namespace

TEST_CASE("where answers mirror, both sides move by what was said and the sum is kept") {
  Pair pool(ExchangeKind::pairwise, true);
  Actions started, served;
  const Frame request = pool.a.train_until_weights(&started);
  REQUIRE(request.kind == FrameKind::request);
  CHECK((request.packed && !request.values));
  CHECK(request.payload_bytes() == 2 + 2 * sizeof(float));
  CHECK(text_of(started, "delta.sent", "codec") == "half+mirror");
  CHECK(std::get<double>(*field_of(started, "delta.sent", "density")) == 0.5);
  pool.a.model.w[0] += 10;  // trains on meanwhile

  const auto answers = pool.b.take_in(request, &served);
  REQUIRE_FALSE(answers.empty());
  REQUIRE(answers[0].kind == FrameKind::reply);
  CHECK(answers[0].packed->bytes[1] == request.packed->bytes[1]);
  CHECK(std::get<double>(*field_of(served, "merge.decided", "density")) == 0.5);
  // a said 1 and 3, b says 6 and 8: each moves by half of the difference.
  CHECK(pool.b.model.w == std::vector<float>{5.5f - 2.5f, -2, 7.75f - 2.5f, 8});
  pool.a.take_in(answers[0]);
  CHECK(pool.a.model.w == std::vector<float>{11.25f + 2.5f, 2.5f, 3.25f + 2.5f, 4});
}

TEST_CASE("where they do not, each side moves from its own weights") {
  Pair pool(ExchangeKind::pairwise, false);
  const auto answers = pool.b.take_in(pool.a.train_until_weights());
  REQUIRE_FALSE(answers.empty());
  CHECK(pool.b.model.w ==
        std::vector<float>{5.5f + 0.5f * (1 - 5.5f), -2, 7.75f + 0.5f * (3 - 7.75f), 8});
  pool.a.take_in(answers[0]);
  CHECK(pool.a.model.w ==
        std::vector<float>{1.25f + 0.5f * (6 - 1.25f), 2.5f, 3.25f + 0.5f * (8 - 3.25f), 4});
}

TEST_CASE("a push in a codec moves its receiver where it speaks, and nobody else") {
  Pair pool(ExchangeKind::push, false);
  const Frame push = pool.a.train_until_weights();
  REQUIRE(push.kind == FrameKind::push);
  pool.b.take_in(push);
  CHECK(pool.b.model.w ==
        std::vector<float>{5.5f + 0.5f * (1 - 5.5f), -2, 7.75f + 0.5f * (3 - 7.75f), 8});
  CHECK(pool.a.model.w == std::vector<float>{1.25f, 2.5f, 3.25f, 4});
  const Frame next = pool.a.train_until_weights();
  CHECK(next.packed->bytes[1] != push.packed->bytes[1]);  // in turn
}

TEST_CASE("a message that cannot be read is refused and changes no weight") {
  for (const bool mirrors : {false, true}) {
    Pair pool(ExchangeKind::pairwise, mirrors);
    const std::vector<float> before = pool.a.model.w;
    bool told = false;
    for (std::uint64_t seq = 0; seq < 3; ++seq) {
      Actions out;
      const auto answers = pool.a.take_in(packed_frame(FrameKind::request, seq, {'X', 0}), &out);
      REQUIRE_FALSE(answers.empty());
      CHECK((answers[0].kind == FrameKind::busy && answers[0].answers == seq));
      CHECK(text_of(out, "merge.decided", "verdict") == "refuse");
      CHECK(text_of(out, "merge.decided", "reason") == "cannot be read: another codec's message");
      told = told || text_of(out, "fault.seen", "kind") == "bad weights";
    }
    CHECK(told);  // three in a row
    CHECK(pool.a.protocol.counters().merges_refused == 3);
    CHECK(pool.a.model.w == before);
  }
}

TEST_CASE("a reply that cannot be read ends its exchange") {
  Pair pool(ExchangeKind::pairwise, true);
  const Frame request = pool.a.train_until_weights();
  Frame reply = packed_frame(FrameKind::reply, 0, {'T', 0, 1});
  reply.answers = request.seq;
  reply.alpha = 0.5;
  const std::vector<float> before = pool.a.model.w;
  pool.a.take_in(reply);
  CHECK(pool.a.model.w == before);
  CHECK(pool.a.protocol.counters().merges_refused == 1);
  CHECK(pool.a.train_until_weights().kind == FrameKind::request);  // the next one
}

TEST_CASE("frames without weights, or in a codec where there is none, are refused") {
  for (const auto kind : {ExchangeKind::pairwise, ExchangeKind::push, ExchangeKind::push_sum}) {
    Seat a(settings(0, 2, kind), {1, 2, 3, 4});
    a.on(input::Start{});
    const FrameKind asks = kind == ExchangeKind::pairwise ? FrameKind::request : FrameKind::push;
    a.take_in(packed_frame(asks, 0, {'T', 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(a.protocol.counters().merges_refused == 1);
    Frame nothing = packed_frame(asks, 1, {});
    nothing.packed = nullptr;
    a.on(input::FrameIn{nothing});
    CHECK(a.protocol.counters().merges_refused == 2);
    CHECK(a.model.w == std::vector<float>{1, 2, 3, 4});
  }
}

TEST_CASE("weights that were replaced have not been said") {
  Pair pool(ExchangeKind::pairwise, true);
  Seat& a = pool.a;
  const Frame request = a.train_until_weights();
  Archive::Arrays arrays;
  CHECK_FALSE(kept(a, arrays)["protocol"]["peer"]["codec"]["published"].is_null());
  Frame busy = packed_frame(FrameKind::busy, 0, {});
  busy.packed = nullptr;
  busy.answers = request.seq;
  a.on(input::FrameIn{busy});
  Actions out = a.on(input::StepDone{{1, std::numeric_limits<double>::quiet_NaN(), 1, 0.1}});
  std::uint64_t asked = 0;
  for (const auto& send : take<action::Send>(out)) {
    if (send.frame.kind == FrameKind::fetch) asked = send.frame.seq;
  }
  Frame model = packed_frame(FrameKind::model, 9, {});
  model.packed = nullptr;
  model.answers = asked;
  model.values = a.model.copy(std::vector<float>{9, 9, 9, 9});
  a.on(input::FrameIn{model});
  CHECK(a.model.w == std::vector<float>{9, 9, 9, 9});
  CHECK(kept(a, arrays)["protocol"]["peer"]["codec"]["published"].is_null());
}

TEST_CASE("a peer taken up from its archive goes on with the same messages") {
  Pair pool(ExchangeKind::push, false);
  pool.a.train_until_weights();
  pool.a.on(input::FrameIn{pool.b.train_until_weights()});  // waits in the inbox
  Archive::Arrays arrays;
  Archive::Json json = kept(pool.a, arrays);
  const Archive::Json& waiting = json["protocol"]["inbox"]["frames"][0];
  REQUIRE(waiting["packed"][0] == 10);
  CHECK(waiting["values"].is_null());

  Seat again(with_codec(0, ExchangeKind::push, false), pool.a.model.w);
  Archive archive(json, arrays);
  archive.of_model(4);
  archive("protocol", again.protocol);
  for (int i = 0; i < 4; ++i) {
    const Frame then = pool.a.train_until_weights(), now = again.train_until_weights();
    REQUIRE((then.packed && now.packed));
    CHECK(then.packed->bytes == now.packed->bytes);
    CHECK(then.seq == now.seq);
    CHECK(again.model.w == pool.a.model.w);
    again.model.w[1] = pool.a.model.w[1] += 3;
  }

  const auto refused = [&](const auto& change) {
    Archive::Json damaged = json;
    change(damaged["protocol"]["inbox"]["frames"][0]);
    Seat fresh(with_codec(0, ExchangeKind::push, false), pool.a.model.w);
    Archive from(damaged, arrays);
    CHECK_THROWS_AS(from("protocol", fresh.protocol), ArchiveFault);
  };
  refused([](Archive::Json& frame) { frame["packed"][0] = 13; });
  refused([](Archive::Json& frame) { frame["packed"][0] = 8; });
  refused([](Archive::Json& frame) { frame["packed"][0] = -1; });
  refused([](Archive::Json& frame) { frame["packed"][1] = 99; });
  refused([](Archive::Json& frame) { frame["packed"] = "T"; });
  refused([](Archive::Json& frame) { frame["packed"] = nullptr; });
  refused([](Archive::Json& frame) { frame["values"] = frame["packed"][1]; });
}

namespace {

// Both sides speak losslessly, of models that are large enough for changes to be shorter. Time goes
// on by a second a mini-batch, and each hears signs of life of the other.
struct LosslessPair {
  static constexpr std::size_t kWeights = 3000;
  LosslessPair() {
    CodecSettings codec;
    codec.kind = CodecSettings::Kind::lossless;
    hearsay::kernels::Layout layout;
    layout.add("weight", {kWeights});
    const std::vector<float> start(kWeights, 1.0f);
    const auto plan = make_codec_plan(codec, layout, start, 3);
    for (std::uint32_t self = 0; self < 2; ++self) {
      GossipSettings s = with_codec(self, ExchangeKind::pairwise, true);
      s.codec = plan;
      seats.push_back(std::make_unique<Seat>(s, start));
      seats.back()->on(input::Start{}, now);
      for (std::size_t i = 0; i < kWeights; i += 100)
        seats.back()->model.w[i] += static_cast<float>(1 + self);
    }
  }
  Actions step(std::uint32_t self) {
    now += 1s;
    Frame sign;
    sign.kind = FrameKind::pong;
    sign.from = PeerId(1 - self);
    sign.to = PeerId(self);
    seats[self]->on(input::FrameIn{sign}, now);
    return seats[self]->on(kStep, now);
  }
  // What it asks next.
  Frame request_of(std::uint32_t self) {
    for (int i = 0; i < 200; ++i) {
      Actions out = step(self);
      for (auto& send : take<action::Send>(out))
        if (send.frame.kind == FrameKind::request) return std::move(send.frame);
    }
    FAIL("nothing was asked");
    return {};
  }
  // The answer of `self`; what it asks beside that is turned down.
  Frame give(std::uint32_t self, const Frame& frame, Actions* all = nullptr) {
    seats[self]->on(input::FrameIn{frame}, now);
    Actions out = step(self);
    Frame answer;
    for (const Action& action : out) {
      const auto* send = std::get_if<action::Send>(&action);
      if (send == nullptr) continue;
      if (send->frame.kind == FrameKind::request) {
        Frame busy;
        busy.kind = FrameKind::busy;
        busy.from = send->frame.to;
        busy.to = send->frame.from;
        busy.answers = send->frame.seq;
        seats[self]->on(input::FrameIn{busy}, now);
      } else if (send->frame.kind == FrameKind::reply || send->frame.kind == FrameKind::busy) {
        answer = send->frame;
      }
    }
    if (all != nullptr) *all = std::move(out);
    return answer;
  }
  void give_up(std::uint32_t self, const Frame& asked) {
    seats[self]->on(input::Timer{asked.seq}, now);
  }
  std::vector<float>& weights(std::uint32_t self) { return seats[self]->model.w; }

  Time now{1s};
  std::vector<std::unique_ptr<Seat>> seats;
};

}  // namespace

TEST_CASE("a lossless exchange that was lost is followed by one that is not refused") {
  LosslessPair pool;
  const Frame first = pool.request_of(0);
  Frame answer = pool.give(1, first);
  REQUIRE(answer.kind == FrameKind::reply);
  pool.give(0, answer);
  CHECK(pool.weights(0) == pool.weights(1));  // half-way, on both sides

  pool.weights(0)[7] += 1;
  const Frame lost = pool.request_of(0);
  CHECK(lost.payload_bytes() < first.payload_bytes() / 10);
  pool.give_up(0, lost);
  const Frame next = pool.request_of(0);
  CHECK(next.payload_bytes() < first.payload_bytes() / 10);
  Actions served;
  CHECK(pool.give(1, next, &served).kind == FrameKind::reply);
  CHECK(text_of(served, "merge.decided", "verdict") == "accept");
}

TEST_CASE("a lossless message that counts on a lost one is nobody's fault, and nothing changes") {
  LosslessPair pool;
  pool.give(0, pool.give(1, pool.request_of(0)));
  // Its answers are lost, so that what it asks next counts on what never came.
  int refused = 0;
  for (std::size_t round = 0; round < 8; ++round) {
    pool.weights(1)[11 + round] += 1;
    const Frame asked = pool.request_of(0);
    pool.give(1, asked);
    pool.give_up(0, asked);
    const Frame counts = pool.request_of(1);
    const std::vector<float> before = pool.weights(0);
    Actions out;
    Frame answer = pool.give(0, counts, &out);
    CHECK_FALSE(recorded(out, "fault.seen"));
    if (answer.kind == FrameKind::busy) {
      ++refused;
      CHECK(text_of(out, "merge.decided", "reason").find("does not hold") != std::string::npos);
      CHECK(pool.weights(0) == before);
      pool.give(1, answer);
      answer = pool.give(0, pool.request_of(1));
    }
    CHECK(answer.kind == FrameKind::reply);
    pool.give(1, answer);
  }
  CHECK(refused >= 2);  // not each time: one in four counts on what came first
}

TEST_CASE("a frame that comes twice is merged once and gets no second answer") {
  Pair pool(ExchangeKind::pairwise, true);
  const Frame request = pool.a.train_until_weights();
  REQUIRE_FALSE(pool.b.take_in(request).empty());
  const std::vector<float> before = pool.b.model.w;
  Actions out;
  for (const Frame& frame : pool.b.take_in(request, &out))
    CHECK((frame.kind != FrameKind::busy && frame.kind != FrameKind::reply));
  CHECK(pool.b.model.w == before);
  CHECK(pool.b.protocol.counters().merges_refused == 1);
}

TEST_CASE("weights as they are are answered as they are, messages in the codec in it") {
  GossipSettings shy = with_codec(0, ExchangeKind::pairwise, true);
  shy.codec = std::make_shared<const ShyPlan>();
  Seat a(shy, {1.25f, 2.5f, 3.25f, 4}),
      b(with_codec(1, ExchangeKind::pairwise, true), {5, -2, 7, 8});
  const std::vector<float> sum{6.25f, 0.5f, 10.25f, 12};
  a.on(input::Start{});
  b.on(input::Start{});
  for (const bool asks_raw : {true, false}) {
    Seat &asks = asks_raw ? a : b, &answers = asks_raw ? b : a;
    Actions out;
    const Frame question = asks.train_until_weights(&out);
    CHECK((question.packed == nullptr) == asks_raw);
    CHECK((question.values != nullptr) == asks_raw);
    CHECK((text_of(out, "delta.sent", "codec") == "raw") == asks_raw);
    Frame reply;
    for (const Frame& frame : answers.take_in(question, &out)) {
      if (frame.kind == FrameKind::reply) reply = frame;
    }
    CHECK((reply.packed == nullptr) == asks_raw);
    CHECK((reply.values != nullptr) == asks_raw);
    asks.take_in(reply);
    CHECK(asks.protocol.counters().merges_applied >= 1);
    for (std::size_t i = 0; i < 4; ++i) CHECK(a.model.w[i] + b.model.w[i] == sum[i]);
    if (asks_raw) CHECK(a.model.w == b.model.w);  // by a half each
  }
}
