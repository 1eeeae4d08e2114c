// SPDX-License-Identifier: Apache-2.0
// Low-rank messages: what they say along their directions, that nothing is lost across them, pair
// averages, kept state, and bytes that nobody wrote.
#include "gossip/codec/low_rank_codec.hpp"

#include <cmath>
#include <limits>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

CodecSettings rank(std::size_t directions) {
  CodecSettings settings;
  settings.kind = Kind::low_rank;
  settings.rank = directions;
  return settings;
}

struct Plan {
  Plan(std::size_t directions, kernels::Layout of)
      : layout(std::move(of)),
        start(normals(layout.size(), 0.05, 1)),
        plan(make_codec_plan(rank(directions), layout, start, 3)) {}
  kernels::Layout layout;
  std::vector<float> start;
  std::shared_ptr<const CodecPlan> plan;
};

std::span<const float> published_by(const Codec& codec) {
  return dynamic_cast<const LowRankCodec&>(codec).published();
}

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

// weights += scale u v^T in a matrix of the layout.
void add_rank_one(std::vector<float>& w, const kernels::TensorSlot& slot, double scale,
                  std::uint64_t seed) {
  const std::size_t rows = slot.shape[0], cols = slot.count / rows;
  const auto u = normals(rows, 1.0, seed), v = normals(cols, scale, seed + 1);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) w[slot.offset + i * cols + j] += u[i] * v[j];
}

}  // namespace

TEST_CASE("Tensors become matrices where that is shorter, and are said whole where not") {
  const LowRankSlots slots(layered(), 4);
  REQUIRE(slots.matrices.size() == 3);
  CHECK(slots.matrices[0].rows == 80);
  CHECK(slots.matrices[0].cols == 900);
  CHECK(slots.dense.size() == 3 + 80 + 1);
  CHECK(slots.direction_values == 4 * (80 + 30 + 20));
  CHECK(slots.coefficient_values == 4 * (900 + 70 + 100));
  CHECK(LowRankSlots(layered(), 20).matrices.size() == 2);  // 20 (20 + 100) > 2000
  CHECK(LowRankSlots(plain(5000), 4).matrices.empty());     // of one dimension
}

TEST_CASE(
    "A change of the rank that is said arrives whole in one message, and what else in later ones") {
  Plan p(2, layered());
  const auto speaker = p.plan->make(PeerId(0)), listener = p.plan->make(PeerId(1));
  std::vector<float> w = p.start, in(w.size()), held = p.start;
  for (const auto& slot : p.layout.slots()) {
    if (slot.shape.size() == 2) {
      add_rank_one(w, slot, 0.01, slot.offset + 10);
      add_rank_one(w, slot, 0.005, slot.offset + 20);
    }
  }
  const double before = distance(w, held);
  const auto said = speaker->encode(w, nullptr);
  CHECK(said->bytes.size() <= p.plan->most_bytes());
  REQUIRE(listener->decode(*said, held, in).fault == "");
  CHECK(distance(w, in) < 1e-4 * before);
  // A change of any rank: the difference falls with every message, to rounding.
  held = in;
  drift(w, 0.01, 5);
  double left = distance(w, held);
  const double moved = left;
  for (int message = 0; message < 60; ++message) {
    REQUIRE(listener->decode(*speaker->encode(w, nullptr), held, in).fault == "");
    held = in;
    CHECK(distance(w, held) < left * 1.0001 + 1e-4);
    left = distance(w, held);
  }
  CHECK(left < 1e-3 * moved);  // of 20 or 30 rows: 60 messages of 2 directions say them all
  CHECK(distance(published_by(*speaker), held) < 1e-3 + distance(w, held) + moved);
}

TEST_CASE("What is published and what is not add up to the weights, message by message") {
  Plan p(3, layered());
  const auto speaker = p.plan->make(PeerId(0));
  const auto listener = p.plan->make(PeerId(1));
  std::vector<float> w = p.start, held = p.start, in(w.size());
  for (std::uint64_t message = 0; message < 10; ++message) {
    drift(w, 0.01, 30 + message);
    REQUIRE(listener->decode(*speaker->encode(w, nullptr), held, in).fault == "");
    held = in;
    // Who has heard everything holds what its sender knows as published.
    const LowRankSlots slots(p.layout, 3);
    for (const MatrixSlot& m : slots.matrices) {
      CHECK(distance(std::span(held).subspan(m.offset, m.count()),
                     published_by(*speaker).subspan(m.offset, m.count())) < 1e-4);
    }
  }
}

TEST_CASE("An answer speaks along the directions that it was asked about: a pair's average") {
  Plan p(4, layered());
  const auto a = p.plan->make(PeerId(0)), b = p.plan->make(PeerId(1));
  std::vector<float> wa = p.start, wb = p.start, ia(wa.size()), ib(wa.size()), own(wa.size());
  drift(wa, 0.02, 7);
  drift(wb, 0.02, 8);
  const double apart = distance(wa, wb);
  for (int round = 0; round < 60; ++round) {
    const bool a_asks = round % 2 == 0;  // in turn
    const auto& asks = a_asks ? a : b;
    const auto& answers = a_asks ? b : a;
    const auto question = asks->encode(a_asks ? wa : wb, nullptr);
    const auto answer = answers->encode(a_asks ? wb : wa, question.get());
    CHECK(answer->bytes.size() < question->bytes.size());
    REQUIRE(answers->decode(*question, a_asks ? wb : wa, a_asks ? ib : ia).fault == "");
    REQUIRE(asks->decode(*answer, a_asks ? wa : wb, a_asks ? ia : ib).fault == "");
    const std::vector<float>& answering = a_asks ? wb : wa;
    REQUIRE(answers->decode(*answer, answering, own).fault == "");
    CHECK(distance(own, answering) < 1e-5 * std::sqrt(double(own.size())));  // whole
    std::vector<float> sum(wa.size());
    for (std::size_t i = 0; i < wa.size(); ++i) {
      sum[i] = wa[i] + wb[i];
      wa[i] += 0.5f * (ia[i] - wa[i]);
      wb[i] += 0.5f * (ib[i] - wb[i]);
    }
    for (std::size_t i = 0; i < wa.size(); ++i)
      REQUIRE(wa[i] + wb[i] == Approx(sum[i]).margin(1e-5));
  }
  CHECK(distance(wa, wb) < 0.5 * apart);
}

TEST_CASE(
    "Weights that do not move, and those that are no numbers, leave messages that can be read") {
  Plan p(2, layered());
  const auto speaker = p.plan->make(PeerId(0)), listener = p.plan->make(PeerId(1));
  std::vector<float> w = p.start, in(w.size());
  for (int message = 0; message < 3; ++message) {
    REQUIRE(listener->decode(*speaker->encode(w, nullptr), p.start, in).fault == "");
    CHECK(distance(in, w) < 1e-5);
  }
  add_rank_one(w, p.layout.slots()[1], 0.1, 4);  // after standing still it finds a change again
  REQUIRE(listener->decode(*speaker->encode(w, nullptr), p.start, in).fault == "");
  CHECK(distance(in, w) < 1e-3 * distance(w, p.start));
  w[100] = std::numeric_limits<float>::infinity();
  w[0] = std::nanf("");
  REQUIRE(listener->decode(*speaker->encode(w, nullptr), p.start, in).fault == "");
  for (const float each : in) REQUIRE(std::isfinite(each));
}

TEST_CASE("A low-rank history goes on with the same bytes from a kept state") {
  Plan p(3, layered());
  const auto codec = p.plan->make(PeerId(2)), partner = p.plan->make(PeerId(3));
  std::vector<float> w = p.start, in(w.size());
  for (std::uint64_t m = 0; m < 6; ++m) {
    drift(w, 0.01, 40 + m);
    codec->encode(w, nullptr);
  }
  const auto asked = codec->encode(w, nullptr);
  Archive kept;
  codec->state(kept);
  const auto again = p.plan->make(PeerId(2));
  Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
  from.of_model(p.layout.size());
  from.of_pool(4);
  again->state(from);
  CHECK(again->decode(*partner->encode(w, asked.get()), w, in).fault == "");
  for (std::uint64_t m = 0; m < 4; ++m) {
    drift(w, 0.01, 50 + m);
    CHECK(codec->encode(w, nullptr)->bytes == again->encode(w, nullptr)->bytes);
  }
  for (const char* key : {"published", "warm", "remembered"}) {
    Archive::Json damaged = kept.json();
    damaged[key] =
        std::string(key) == "remembered" ? Archive::Json::array({nullptr}) : Archive::Json();
    Archive bad(damaged, kept.arrays());
    CHECK_THROWS_AS(again->state(bad), ArchiveFault);
  }
}

TEST_CASE("Low-rank messages that are cut off, too long or changed are refused or give floats") {
  kernels::Layout layout;
  layout.add("0.weight", {32, 33});
  layout.add("0.bias", {5});
  Plan p(2, layout);
  const auto codec = p.plan->make(PeerId(0)), partner = p.plan->make(PeerId(1));
  std::vector<float> w = p.start, in(w.size());
  drift(w, 0.1, 2);
  const auto question = codec->encode(w, nullptr), answer = partner->encode(w, question.get());
  const auto fault = [&](const Codec& reader, const PackedBytes& bytes) {
    merge::Packed message;
    message.bytes = bytes;
    return reader.decode(message, p.start, in).fault;
  };
  CHECK(fault(*partner, question->bytes) == "");
  CHECK(fault(*codec, answer->bytes) == "");
  CHECK(fault(*p.plan->make(PeerId(1)), answer->bytes) != "");  // who never asked
  for (const auto& [message, reader] :
       {std::pair(question, partner.get()), {answer, codec.get()}}) {
    for (std::size_t length = 0; length < message->bytes.size(); ++length)
      REQUIRE(fault(*reader, {message->bytes.begin(),
                              message->bytes.begin() + std::ptrdiff_t(length)}) != "");
    PackedBytes bytes = message->bytes;
    bytes.push_back(0);
    CHECK(fault(*reader, bytes) != "");
    bytes.pop_back();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] = static_cast<std::uint8_t>(message->bytes[at] ^ 0x80u);
      const std::string line = fault(*reader, bytes);
      if (at < kPackedHead) REQUIRE(line != "");
      REQUIRE(line.find('\n') == std::string::npos);
      bytes[at] = message->bytes[at];
    }
  }
  // Directions that are none would stretch what is said along them.
  PackedBytes stretched = question->bytes;
  const float ten = 10.0f;
  std::memcpy(stretched.data() + kPackedHead, &ten, sizeof ten);
  CHECK(fault(*partner, stretched) == "message has directions that are not orthonormal");
}

}  // namespace hearsay::gossip
