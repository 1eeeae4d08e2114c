// SPDX-License-Identifier: Apache-2.0
// Quantisation momentum: how fast what is said arrives, what each mode says of how many weights,
// and what it leaves unsaid.
#include "gossip/codec/smoothing.hpp"

#include <cmath>

#include "gossip/codec/testkit.hpp"
#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using namespace testkit;
using Mode = SmoothingRule::Mode;

constexpr std::size_t kWeights = 20'000;

struct Story {
  Story(Mode mode, double share)
      : start(normals(kWeights, 1.0, 1)),
        w(start),
        heard(start),
        plan(make_codec_plan(smoothed(mode, share), plain(kWeights), start, 3)),
        codec(plan->make(PeerId(0))) {}
  // How many weights the next message speaks of.
  std::size_t next() {
    std::vector<float> in(kWeights);
    const auto message = codec->encode(w, nullptr);
    CHECK(message->bytes.size() <= plan->most_bytes());
    const Unpacked read = plan->make(PeerId(1))->decode(*message, heard, in);
    REQUIRE(read.fault == "");
    heard = in;
    return read.values;
  }
  double distance() const {
    double squares = 0.0;
    for (std::size_t i = 0; i < kWeights; ++i) squares += std::pow(heard[i] - w[i], 2);
    return std::sqrt(squares / kWeights);
  }
  std::vector<float> start, w, heard;
  std::shared_ptr<const CodecPlan> plan;
  std::unique_ptr<Codec> codec;
};

// Weights that a message speaks of on average while training goes on.
double said_while_training(Mode mode) {
  Story story(mode, 0.1);
  std::size_t said = 0;
  for (std::uint64_t m = 0; m < 40; ++m) {
    drift(story.w, 0.01, 10 + m);
    const std::size_t now = story.next();
    if (m >= 20) said += now;
  }
  return static_cast<double>(said) / (20.0 * kWeights);
}

}  // namespace

TEST_CASE("What is said goes b of the way at each message, in every mode") {
  Smoothing filter({.mode = Mode::on_support, .gain = 0.7}, 1);
  filter.forget(std::vector<float>{1.0f});
  CHECK(filter.next(0, 2.0f) == Approx(1.7));
  CHECK(filter.next(0, 2.0f) == Approx(1.91));
  CHECK(!std::isfinite(filter.next(0, std::nanf(""))));
  CHECK(filter.next(0, 2.0f) == Approx(1.973));  // what is no number leaves it alone
  for (const Mode mode : {Mode::ef, Mode::on_support, Mode::literal}) {
    Story story(mode, 0.5);
    drift(story.w, 0.1, 2);
    const double before = story.distance();
    CHECK(story.next() >= kWeights / 2);
    // The larger half goes 0.7 of the way: of a normal's second moment 0.93 lies beyond its median.
    CHECK(story.distance() / before == Approx(std::sqrt(1.0 - 0.928 * (1.0 - 0.09))).margin(0.01));
  }
}

TEST_CASE("literal says several times as many weights as were chosen, the other modes just those") {
  CHECK(said_while_training(Mode::ef) == Approx(0.1));
  CHECK(said_while_training(Mode::on_support) == Approx(0.1));
  const double said = said_while_training(Mode::literal);
  CHECK(said > 0.25);
  CHECK(said < 0.5);
}

TEST_CASE("Of weights that stand still ef says all, on_support leaves what was on its way") {
  std::vector<double> left;
  for (const Mode mode : {Mode::ef, Mode::on_support, Mode::literal}) {
    Story story(mode, 0.1);
    drift(story.w, 0.1, 2);
    const double before = story.distance();
    for (int m = 0; m < 60; ++m) story.next();
    left.push_back(story.distance() / before);
  }
  INFO(left[0] << " " << left[1] << " " << left[2]);
  CHECK(left[0] < 0.01);
  CHECK(left[1] == Approx(0.3).margin(0.01));  // all has entered once
  CHECK(left[2] < 0.02);                       // but for what is below half a level
}

TEST_CASE("Of weights at rest none is added, however small the largest move is") {
  Smoothing filter({.mode = Mode::literal}, 4);
  filter.forget(std::vector<float>{0.0f, 1.0f, 2.0f, 3.0f});
  const std::vector<std::uint32_t> small{3};
  std::vector<std::uint32_t> at{0};
  filter.add_tails(std::vector<float>{1e-45f, 1.0f, 2.0f, 9.0f}, small, 127.0, at);
  CHECK(at == std::vector<std::uint32_t>{0});
  filter.add_tails(std::vector<float>{0.0f, 2.0f, 2.004f, 9.0f}, small, 127.0, at);
  CHECK(at == std::vector<std::uint32_t>{0, 1, 2});  // the third by 1 / 250 of the largest
  at = {0};
  filter.add_tails(std::vector<float>{0.0f, 2.0f, 2.003f, 9.0f}, small, 127.0, at);
  CHECK(at == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("An answer with momentum speaks of the weights of the question") {
  const std::vector<float> start = normals(kWeights, 1.0, 1);
  for (const Mode mode : {Mode::ef, Mode::on_support, Mode::literal}) {
    const auto plan = make_codec_plan(smoothed(mode, 0.05, true), plain(kWeights), start, 3);
    INFO(plan->text());
    const auto me = plan->make(PeerId(0)), you = plan->make(PeerId(1));
    std::vector<float> mine = start, yours = start, in(kWeights);
    const std::vector<float> base(kWeights, -7777.0f);
    for (std::uint64_t m = 0; m < 4; ++m) {
      drift(mine, 0.1, 10 + m);
      drift(yours, 0.1, 20 + m);
      const auto question = me->encode(mine, nullptr);
      const auto answer = you->encode(yours, question.get());
      const Unpacked asked = you->decode(*question, base, in);
      std::vector<bool> named;
      for (const float each : in) named.push_back(each != -7777.0f);
      const Unpacked answered = me->decode(*answer, base, in);
      CHECK(asked.fault + answered.fault == "");
      CHECK(answered.values == asked.values);
      for (std::size_t i = 0; i < kWeights; ++i) REQUIRE(named[i] == (in[i] != -7777.0f));
    }
  }
}

}  // namespace hearsay::gossip
