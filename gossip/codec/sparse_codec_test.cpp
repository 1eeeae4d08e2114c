// SPDX-License-Identifier: Apache-2.0
// Sparse codecs: what is said is what matters, everything is said in the end, answers speak of what
// was asked, and positions cost what theory says.
#include <algorithm>
#include <cmath>
#include <map>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;

constexpr float kUnsaid = -7777.0f;

// Offsets of the weights that a message says something of.
std::vector<std::size_t> said_by(const Codec& reader, const merge::Packed& message, std::size_t n) {
  const std::vector<float> base(n, kUnsaid);
  std::vector<float> in(n);
  REQUIRE(reader.decode(message, base, in).fault == "");
  std::vector<std::size_t> said;
  for (std::size_t i = 0; i < n; ++i)
    if (in[i] != kUnsaid) said.push_back(i);
  return said;
}

float farthest(std::span<const float> a, std::span<const float> b) {
  float most = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE("Weights that stand still are said completely, within N / k messages") {
  const std::size_t n = 20'000;
  const std::vector<float> start = normals(n, 1.0, 1);
  std::vector<float> w = start;
  drift(w, 0.1, 2);
  const std::map<Kind, int> messages{
      {Kind::topk, 20}, {Kind::threshold, 20}, {Kind::blocks, 20}, {Kind::random, 400}};
  for (const auto& [kind, count] : messages) {
    for (const ValueKind values : {ValueKind::fp32, ValueKind::bf16, ValueKind::int8}) {
      const auto plan = make_codec_plan(sparse(kind, 0.05, values), plain(n), start, 3);
      INFO(plan->text());
      const auto codec = plan->make(PeerId(0)), reader = plan->make(PeerId(1));
      std::vector<float> heard = start;
      const float before = farthest(heard, w);
      // By threshold a message says about the share, not exactly.
      for (int m = 0; m < (kind == Kind::threshold ? 2 * count : count); ++m) {
        std::vector<float> in(n);
        REQUIRE(reader->decode(*codec->encode(w, nullptr), heard, in).fault == "");
        heard = in;
      }
      const float after = farthest(heard, w);
      if (values == ValueKind::fp32) CHECK(after == 0.0f);
      CHECK(after <= before / 50.0f);
      CHECK(farthest(heard, published(*codec)) == 0.0f);
    }
  }
}

TEST_CASE("What rounding left unsaid is said later") {
  const std::size_t n = 20'000;
  const std::vector<float> start(n, 0.0f), w = normals(n, 0.1, 2);
  const auto plan = make_codec_plan(sparse(Kind::topk, 0.05, ValueKind::int4), plain(n), start, 3);
  const auto codec = plan->make(PeerId(0));
  const auto error = [&] {
    double squares = 0.0;
    for (std::size_t i = 0; i < n; ++i) squares += std::pow(published(*codec)[i] - w[i], 2);
    return std::sqrt(squares / static_cast<double>(n));
  };
  for (int m = 0; m < 20; ++m) codec->encode(w, nullptr);
  const double once = error();  // about: all has been said once
  for (int m = 0; m < 40; ++m) codec->encode(w, nullptr);
  CHECK(error() < 0.85 * once);
}

TEST_CASE("topk says exactly the largest differences, and all of small tensors") {
  const kernels::Layout layout = layered();
  const std::vector<float> start = normals(layout.size(), 1.0, 1);
  std::vector<float> w = start;
  drift(w, 0.1, 2);
  const auto plan = make_codec_plan(sparse(Kind::topk, 0.01), layout, start, 3);
  const auto codec = plan->make(PeerId(0));
  const auto said = said_by(*codec, *codec->encode(w, nullptr), layout.size());
  std::vector<std::pair<float, std::size_t>> large;
  std::vector<std::size_t> expected;
  for (const kernels::TensorSlot& slot : layout.slots()) {
    for (std::size_t i = slot.offset; i < slot.offset + slot.count; ++i) {
      if (slot.count < kSmallTensor) {
        expected.push_back(i);
      } else {
        large.emplace_back(-std::fabs(w[i] - start[i]), i);
      }
    }
  }
  CHECK(expected.size() == 84);
  std::sort(large.begin(), large.end());
  const auto k = static_cast<std::size_t>(std::llround(0.01 * static_cast<double>(large.size())));
  for (std::size_t j = 0; j < k; ++j) expected.push_back(large[j].second);
  std::sort(expected.begin(), expected.end());
  CHECK(said == expected);
}

TEST_CASE("threshold keeps the share of what it says near its target") {
  const std::size_t n = 100'000;
  std::vector<float> w = normals(n, 1.0, 1);
  const auto plan = make_codec_plan(sparse(Kind::threshold, 0.01), plain(n), w, 3);
  const auto codec = plan->make(PeerId(0));
  std::size_t total = 0;
  for (std::uint64_t m = 0; m < 60; ++m) {
    drift(w, 0.01 + 0.0002 * static_cast<double>(m), 20 + m);
    const std::size_t said = said_by(*codec, *codec->encode(w, nullptr), n).size();
    CHECK(said > 0);
    CHECK(said <= 2000);
    if (m >= 10) total += said;
  }
  CHECK(total > 45'000);  // 50 messages of 1000
  CHECK(total < 55'000);
}

TEST_CASE("blocks says each block once a round, in another order the next round") {
  const std::size_t n = 16 * 100 + 7;  // the last block has seven weights
  const std::vector<float> start = normals(n, 1.0, 1);
  const auto plan = make_codec_plan(sparse(Kind::blocks, 0.1), plain(n), start, 3);
  const auto codec = plan->make(PeerId(0)), reader = plan->make(PeerId(1));
  std::vector<std::vector<std::size_t>> rounds(2);
  for (auto& round : rounds) {
    std::vector<int> seen(n);
    for (int part = 0; part < 11; ++part) {
      const auto said = said_by(*reader, *codec->encode(start, nullptr), n);
      for (const std::size_t i : said) {
        ++seen[i];
        round.push_back(i);
      }
      CHECK(said.size() >= 9 * 16 - 9);
      CHECK(said.size() <= 10 * 16);
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(n));
  }
  CHECK(rounds[0] != rounds[1]);
  // Another peer goes another way.
  const auto other = plan->make(PeerId(5));
  CHECK(codec->encode(start, nullptr)->bytes != other->encode(start, nullptr)->bytes);
}

TEST_CASE("randk and blocks say every weight equally often") {
  const std::size_t n = 2000;
  const std::vector<float> start = normals(n, 1.0, 1);
  for (const Kind kind : {Kind::random, Kind::blocks}) {
    const auto plan = make_codec_plan(sparse(kind, 0.1), plain(n), start, 3);
    const auto reader = plan->make(PeerId(0));
    std::vector<double> seen(n);
    constexpr int kPeers = 4000;  // the first message of each: no round evens it out
    for (std::uint32_t peer = 0; peer < kPeers; ++peer) {
      const auto message = plan->make(PeerId(peer))->encode(start, nullptr);
      for (const std::size_t i : said_by(*reader, *message, n)) seen[i] += 1.0;
    }
    const double share = kind == Kind::random ? 0.1 : 12.0 / 125.0;
    double squares = 0.0;
    for (const double each : seen) {
      CHECK(std::fabs(each / kPeers - share) < 5.5 * std::sqrt(share * (1 - share) / kPeers));
      const double off = each - kPeers * share;
      squares += off * off / (kPeers * share * (1 - share));
    }
    // Chi squared: a mean of 1 a weight; blocks have 125 independent counts.
    CHECK(squares / static_cast<double>(n) ==
          Approx(1.0).margin(kind == Kind::random ? 0.16 : 0.55));
  }
}

TEST_CASE("A mirrored answer speaks of the weights of the question, without naming them") {
  const std::size_t n = 50'000;
  const std::vector<float> start = normals(n, 1.0, 1);
  std::vector<float> mine = start, yours = start;
  drift(mine, 0.1, 2);
  drift(yours, 0.1, 3);
  for (const Kind kind : {Kind::topk, Kind::threshold, Kind::random, Kind::blocks}) {
    const auto plan =
        make_codec_plan(sparse(kind, 0.02, ValueKind::int8, true), plain(n), start, 3);
    INFO(plan->text());
    const auto me = plan->make(PeerId(0)), you = plan->make(PeerId(1)),
               stranger = plan->make(PeerId(2));
    CHECK(me->mirrors());
    const auto question = me->encode(mine, nullptr);
    me->encode(mine, nullptr);  // another one in between
    const auto answer = you->encode(yours, question.get());
    const auto asked = said_by(*you, *question, n);
    CHECK(said_by(*me, *answer, n) == asked);
    CHECK(said_by(*you, *answer, n) == asked);  // who has made it can read it
    for (const std::size_t i : asked) CHECK(std::fabs(published(*you)[i] - yours[i]) < 0.01f);
    const std::size_t values = value_bytes({.kind = ValueKind::int8}, asked.size());
    CHECK(answer->bytes.size() <= kPackedHead + 12 + values);
    std::vector<float> in(n);
    const bool is_named = kind == Kind::topk || kind == Kind::threshold;
    CHECK((stranger->decode(*answer, start, in).fault != "") == is_named);
    // What cannot be answered is no question: the codec chooses.
    merge::Packed nonsense{{1, 2, 3}};
    CHECK(said_by(*me, *you->encode(yours, &nonsense), n).size() > 0);
    const auto instead = you->encode(yours, answer.get());
    CHECK(said_by(*me, *instead, n).size() > 0);
    for (int m = 0; m < 4; ++m) me->encode(mine, nullptr);
    if (is_named) CHECK(me->decode(*answer, start, in).fault.find("last 4") != std::string::npos);
  }
  CHECK(!make_codec_plan(sparse(Kind::topk, 0.02), plain(n), start, 3)->make(PeerId(0))->mirrors());
  CHECK(make_codec_plan(dense(ValueKind::bf16), plain(n), start, 3)->make(PeerId(0))->mirrors());
}

TEST_CASE("A message takes its positions and values, and less than 24 bytes more") {
  const std::size_t n = 200'000;
  const std::vector<float> start = normals(n, 1.0, 1);
  std::vector<float> w = start;
  drift(w, 0.1, 2);
  for (const Kind kind : {Kind::topk, Kind::random, Kind::blocks}) {
    const auto plan = make_codec_plan(sparse(kind, 0.01, ValueKind::bf16), plain(n), start, 3);
    const std::size_t bytes = plan->make(PeerId(0))->encode(w, nullptr)->bytes.size();
    const double rho = 0.01;
    const double entropy = -(std::log2(rho) * rho + std::log2(1 - rho) * (1 - rho)) / rho;
    const double positions = kind == Kind::topk ? entropy / 8.0 * 1.08 : 0.0;
    const double entries = kind == Kind::blocks ? 125 * 16 : 2000;
    INFO(plan->text() << " " << bytes);
    CHECK(static_cast<double>(bytes) <= entries * (2.0 + positions) + 24.0);
  }
}

}  // namespace hearsay::gossip
