// SPDX-License-Identifier: Apache-2.0
// Sums in a codec: of ddp's gradients and of what diloco's rounds have done.
#include "gossip/baselines/ring_gather.hpp"

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "gossip/baselines/ddp.hpp"
#include "gossip/baselines/diloco.hpp"
#include "gossip/codec/plan.hpp"
#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using testkit::TinyModel;
using Kind = FeedbackSettings::Kind;

namespace {

constexpr std::size_t kSize = 3000;

std::shared_ptr<const CodecPlan> plan_of(double share) {
  CodecSettings settings;
  settings.kind = CodecSettings::Kind::topk;
  settings.share = share;
  hearsay::kernels::Layout layout;
  layout.add("0.weight", {kSize / 10, 10});
  return make_codec_plan(settings, layout, std::vector<float>(kSize), 1);
}

float value_of(std::uint32_t peer, std::size_t i, int round) {
  auto rng =
      hearsay::kernels::Rng::stream(peer * 131 + static_cast<std::uint64_t>(round), "gather");
  rng.seek(i);
  return static_cast<float>(rng.uniform() - 0.5);
}

// n peers that add up; frames in an order drawn from the seed, in order on each link.
struct Ring {
  Ring(std::uint32_t n, const ReduceSettings& settings) : links(n), sums(n), rounds_over(n) {
    for (std::uint32_t i = 0; i < n; ++i) {
      peers.push_back(std::make_unique<RingGather>(PeerId(i), n, settings));
      values.emplace_back(kSize);
    }
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(peers.size()); }
  void begin(std::uint32_t i, std::uint64_t round, AllReduce::Sum own) {
    Actions out;
    for (std::size_t k = 0; k < kSize; ++k) values[i][k] = value_of(i, k, static_cast<int>(round));
    peers[i]->begin(round, own, values[i], model, out);
    advance(i, out);
  }
  void advance(std::uint32_t i, Actions& out) {
    rounds_over[i] += peers[i]->advance(values[i], model, out) ? 1 : 0;
    for (auto& send : testkit::take<action::Send>(out)) links[i].push_back(send.frame);
    for (auto& each : testkit::take<action::Record>(out)) faults += each.event.name == "fault.seen";
  }
  void deliver(std::uint32_t from) {
    Frame frame = links[from].front();
    links[from].pop_front();
    bytes += frame.payload_bytes();
    ++frames;
    Actions out;
    peers[frame.to.value]->receive(frame, out);
    advance(frame.to.value, out);
  }
  void deliver_all() {
    for (;;) {
      std::vector<std::uint32_t> loaded;
      for (std::uint32_t i = 0; i < links.size(); ++i) {
        if (!links[i].empty()) loaded.push_back(i);
      }
      if (loaded.empty()) return;
      deliver(loaded[rng.below(static_cast<std::uint32_t>(loaded.size()))]);
    }
  }

  hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(2, "ring-gather-test");
  TinyModel model{std::vector<float>(kSize)};
  std::vector<std::unique_ptr<RingGather>> peers;
  std::vector<std::vector<float>> values;
  std::vector<std::deque<Frame>> links;  // [sender]
  std::vector<std::vector<float>> sums;
  std::vector<int> rounds_over;
  std::size_t frames = 0, bytes = 0;
  int faults = 0;
};

}  // namespace

TEST_CASE("sums in a codec are the same bits everywhere, and leave nothing out for good") {
  const std::uint32_t n = GENERATE(1u, 2u, 5u);
  Ring ring(n, {plan_of(0.05), {}});
  std::vector<double> there(kSize), said(kSize);
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < kSize; ++k) there[k] += double(value_of(i, k, round));
    }
    for (std::uint32_t i = 0; i < n; ++i)
      ring.begin(i, static_cast<std::uint64_t>(round), {2.0 + i, i == 1 && round == 3});
    ring.deliver_all();
    for (std::uint32_t i = 0; i < n; ++i) {
      CHECK(ring.values[i] == ring.values[0]);
      CHECK(ring.peers[i]->total().weight == 2.0 * n + n * (n - 1) / 2);
      CHECK(ring.peers[i]->total().stop == (n > 1 && round == 3));
      CHECK_FALSE(ring.peers[i]->is_reducing());
    }
    for (std::size_t k = 0; k < kSize; ++k) said[k] += double(ring.values[0][k]);
  }
  CHECK(ring.rounds_over == std::vector<int>(n, kRounds));
  CHECK(ring.frames == kRounds * n * (n - 1));
  CHECK(ring.bytes <= ring.frames * kSize);  // a quarter of whole values at most
  for (std::size_t k = 0; k < kSize; ++k) {
    double left = 0.0;
    for (const auto& peer : ring.peers) left += double(peer->memory().memory()[k]);
    REQUIRE(said[k] + left == Approx(there[k]).margin(1e-4));
  }
}

TEST_CASE("with changes (ef21) the sum comes near that of gradients that stay the same") {
  Ring ring(3, {plan_of(0.2), {Kind::ef21, 0.0, 0.0}});
  for (std::uint64_t step = 0; step < 12; ++step) {
    Actions out;
    for (std::uint32_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < kSize; ++k) ring.values[i][k] = value_of(i, k, 0);
      ring.peers[i]->begin(step, {1.0, false}, ring.values[i], ring.model, out);
      ring.advance(i, out);
    }
    ring.deliver_all();
  }
  for (std::size_t k = 0; k < kSize; ++k) {
    const double sum = double(value_of(0, k, 0)) + value_of(1, k, 0) + value_of(2, k, 0);
    REQUIRE(double(ring.values[1][k]) == Approx(sum).margin(1e-5));
  }
}

TEST_CASE("a message that is not due, or that nobody can read, ends the sum with a line") {
  const ReduceSettings settings{plan_of(0.05), {}};
  for (const int what : {0, 1, 2, 3}) {
    Ring ring(3, settings);
    for (std::uint32_t i = 0; i < 3; ++i) ring.begin(i, 0, {1.0, false});
    Frame& first = ring.links[0].front();
    if (what == 0) first.seq = 1;
    if (what == 1) first.slice = 2;
    if (what == 2) first.packed = nullptr;
    if (what == 3)
      first.packed =
          std::make_shared<hearsay::merge::Packed>(hearsay::merge::Packed{{1, 2, 3, 4, 5, 6}});
    ring.deliver_all();
    CAPTURE(what);
    CHECK(ring.peers[1]->is_broken());
    CHECK(ring.faults > 0);
    CHECK(ring.rounds_over[1] == 0);
  }
}

TEST_CASE("more messages than two rounds have are no memory's burden") {
  Ring ring(3, {plan_of(0.05), {}});
  ring.begin(0, 0, {1.0, false});
  const Frame frame = ring.links[0].front();
  Actions out;
  for (int i = 0; i < 9; ++i) ring.peers[1]->receive(frame, out);
  CHECK(ring.peers[1]->is_broken());
}

TEST_CASE("a sum in a codec goes on from a kept state as it was") {
  const ReduceSettings settings{plan_of(0.05), {Kind::dgc, 0.9, 0.0}};
  Ring ring(3, settings), again(3, settings);
  for (Ring* each : {&ring, &again}) {
    for (std::uint64_t round = 0; round < 2; ++round) {
      for (std::uint32_t i = 0; i < 3; ++i) each->begin(i, round, {1.0, false});
      if (round == 0) each->deliver_all();
    }
    each->deliver(0);
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    Archive kept;
    again.peers[i]->state(kept);
    Archive from(Archive::Json::parse(kept.json().dump()), kept.arrays());
    again.peers[i] = std::make_unique<RingGather>(PeerId(i), 3, settings);
    again.peers[i]->state(from);
    Archive::Json wrong = kept.json();
    wrong["parts"].erase(0);
    Archive fewer(wrong, kept.arrays());
    CHECK_THROWS_AS(RingGather(PeerId(i), 3, settings).state(fewer), ArchiveFault);
  }
  for (Ring* each : {&ring, &again}) {
    each->deliver_all();
    for (std::uint32_t i = 0; i < 3; ++i) each->begin(i, 2, {1.0, false});
    each->deliver_all();
  }
  CHECK(ring.rounds_over == std::vector<int>(3, 3));
  CHECK(again.values == ring.values);
}

TEST_CASE("diloco in a codec moves by the mean of what its peers have done") {
  const std::shared_ptr<const CodecPlan> plan = plan_of(0.9);
  std::vector<std::unique_ptr<Diloco>> peers;
  std::vector<std::unique_ptr<TinyModel>> models;
  std::deque<Frame> flying;
  const auto feed = [&](std::uint32_t i, const Input& input) {
    Actions out;
    peers[i]->on(input, Time(0), *models[i], out);
    for (auto& send : testkit::take<action::Send>(out)) flying.push_back(send.frame);
  };
  for (std::uint32_t i = 0; i < 2; ++i) {
    DilocoSettings settings{PeerId(i), 2, 1, 2, 1, {}, 0, {plan, {}}};
    settings.outer = {OuterSettings::Kind::nesterov, 1.0, 0.7, 0.0, 4, 0.0};
    peers.push_back(std::make_unique<Diloco>(settings));
    models.push_back(std::make_unique<TinyModel>(std::vector<float>(kSize, 1.0f)));
    feed(i, input::Start{});
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < kSize; ++k) models[i]->w[k] += value_of(i, k, 0);
    feed(i, input::StepDone{{1, 0.5, 1, 0.1}});
  }
  while (!flying.empty()) {
    const Frame frame = flying.front();
    flying.pop_front();
    feed(frame.to.value, input::FrameIn{frame});
  }
  CHECK(models[0]->w == models[1]->w);
  std::size_t near = 0;
  for (std::size_t k = 0; k < kSize; ++k) {
    const double mean = 1.0 + 0.5 * (double(value_of(0, k, 0)) + value_of(1, k, 0));
    near += std::abs(models[0]->w[k] - mean) < 1e-5;
  }
  CHECK(near > kSize * 8 / 10);  // of each nine tenths were said
}

TEST_CASE("whoever gets what nobody can read ends, and waits for no one") {
  const std::shared_ptr<const CodecPlan> plan = plan_of(0.05);
  TinyModel model(std::vector<float>(kSize, 1.0f));
  Ddp ddp({PeerId(0), 2, 1, 3, 0, {plan, {}}});
  Actions out;
  ddp.on(input::Start{}, Time(0), model, out);
  ddp.on(input::StepDone{{1, 0.5, 1, 0.1}}, Time(0), model, out);
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = PeerId(1);
  frame.slice = 1;
  frame.mass = 1.0;
  frame.packed = std::make_shared<hearsay::merge::Packed>(hearsay::merge::Packed{{1, 2, 3}});
  out.clear();
  ddp.on(input::FrameIn{frame}, Time(0), model, out);
  const auto ends = testkit::take<action::Finish>(out);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].reason == "stuck");
}

TEST_CASE("a gradient that is not finite ends all peers in the same step, in a codec too") {
  Ring ring(3, {plan_of(0.05), {}});
  for (std::uint32_t i = 0; i < 3; ++i) {
    Actions out;
    for (std::size_t k = 0; k < kSize; ++k) ring.values[i][k] = 0.5f;
    if (i == 1) ring.values[i][7] = std::numeric_limits<float>::infinity();
    ring.peers[i]->begin(0, {1.0, false}, ring.values[i], ring.model, out);
    ring.advance(i, out);
  }
  ring.deliver_all();
  for (const auto& peer : ring.peers) CHECK(std::isnan(peer->total().weight));
}
