// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/ddp.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "gossip/protocols/testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using testkit::TinyModel;

namespace {

// Drives n peers through one all-reduce, delivering frames in an order drawn from the seed (per
// link in order).
struct Ring {
  Ring(std::uint32_t n, std::size_t size, std::uint64_t seed)
      : rng(hearsay::kernels::Rng::stream(seed, "ring-test")) {
    for (std::uint32_t i = 0; i < n; ++i) {
      peers.push_back(std::make_unique<Ddp>(DdpSettings{PeerId(i), n, 1, 3}));
      models.push_back(std::make_unique<TinyModel>(std::vector<float>(size, 0.0f)));
      links.emplace_back();
    }
  }
  void feed(std::uint32_t i, const Input& input) {
    Actions out;
    peers[i]->on(input, Time(0), *models[i], out);
    for (auto& send : testkit::take<action::Send>(out)) links[i].push_back(send.frame);
    for (auto& apply : testkit::take<action::ApplyGradient>(out)) scales.push_back(apply.scale);
    for (auto& end : testkit::take<action::Finish>(out)) ends.push_back(end.alive);
  }
  void deliver_all() {
    for (;;) {
      std::vector<std::uint32_t> loaded;
      for (std::uint32_t i = 0; i < links.size(); ++i) {
        if (!links[i].empty()) loaded.push_back(i);
      }
      if (loaded.empty()) return;
      const std::uint32_t from = loaded[rng.below(static_cast<std::uint32_t>(loaded.size()))];
      Frame frame = links[from].front();
      links[from].pop_front();
      ++frames;
      bytes += frame.payload_bytes();
      if (frame.payload_bytes() == 0) frame.values = nullptr;  // as it comes off a socket
      feed(frame.to.value, input::FrameIn{frame});
    }
  }

  hearsay::kernels::Rng rng;
  std::vector<std::unique_ptr<Ddp>> peers;
  std::vector<std::unique_ptr<TinyModel>> models;
  std::vector<std::deque<Frame>> links;  // [sender]
  std::vector<double> scales;
  std::vector<bool> ends;
  std::size_t frames = 0, bytes = 0;
};

}  // namespace

TEST_CASE(
    "the ring all-reduce gives everyone the same example-weighted sum with the stated traffic") {
  const std::uint32_t n = GENERATE(2u, 3u, 4u, 7u);
  const std::size_t size = GENERATE(1u, 5u, 28u, 100u);
  CAPTURE(n, size);
  Ring ring(n, size, 9);
  std::vector<double> expected(size);
  double examples = 0;
  for (std::uint32_t i = 0; i < n; ++i) ring.feed(i, input::Start{});
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t samples = 30 + i;
    examples += samples;
    for (std::size_t k = 0; k < size; ++k) {
      ring.models[i]->g[k] = static_cast<float>(i + 1) * 0.5f + static_cast<float>(k);
      expected[k] += samples * double(ring.models[i]->g[k]);
    }
    ring.feed(i, input::StepDone{{samples, 1.0, 0, 0.1}});
  }
  ring.deliver_all();
  CHECK(ring.frames == n * 2 * (n - 1));
  CHECK(ring.bytes ==
        2 * (n - 1) * size * sizeof(float));  // all peers together: 2 (n - 1) / n * 4 N each
  for (std::uint32_t i = 0; i < n; ++i) {
    CHECK(ring.models[i]->g == ring.models[0]->g);  // the same bits
    for (std::size_t k = 0; k < size; ++k)
      CHECK(ring.models[i]->g[k] == Approx(expected[k]).epsilon(1e-6));
  }
  REQUIRE(ring.scales.size() == n);
  for (const double scale : ring.scales) CHECK(scale == Approx(1.0 / examples));
}

TEST_CASE("when one peer wants to stop, all stop after the same step") {
  Ring ring(3, 10, 5);
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::Start{});
  ring.feed(1, input::Stop{"time"});
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::StepDone{{32, 1.0, 0, 0.1}});
  ring.deliver_all();
  CHECK(ring.ends == std::vector<bool>(3, true));
  for (const auto& peer : ring.peers) CHECK(peer->counters().steps == 1);
}

TEST_CASE("a ring that has lost a peer ends at once, with the weights of the last whole step") {
  Ring ring(3, 10, 6);
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::Start{});
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::StepDone{{32, 1.0, 0, 0.1}});
  ring.deliver_all();
  const std::size_t updates = ring.scales.size();
  ring.feed(0, input::StepDone{{32, 1.0, 0, 0.1}});
  ring.feed(0, input::PeerDown{PeerId(2)});
  ring.feed(1, input::PeerDown{PeerId(2)});
  CHECK(ring.ends == std::vector<bool>(2, true));
  CHECK(ring.scales.size() == updates);
}

TEST_CASE("a ring of more peers than values passes empty slices on") {
  Ring ring(5, 3, 8);
  for (std::uint32_t i = 0; i < 5; ++i) ring.feed(i, input::Start{});
  for (std::uint32_t i = 0; i < 5; ++i) {
    for (float& g : ring.models[i]->gradient()) g = static_cast<float>(i + 1);
    ring.feed(i, input::StepDone{{2, 1.0, 0, 0.1}});
  }
  ring.deliver_all();
  for (const auto& model : ring.models) {
    for (const float g : model->gradient()) CHECK(g == 30.0f);  // 2 (1 + 2 + 3 + 4 + 5)
  }
}

TEST_CASE(
    "one loss that is not finite ends the baseline for everyone in the same step, without an "
    "update") {
  Ring ring(3, 10, 5);
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::Start{});
  for (std::uint32_t i = 0; i < 3; ++i)
    ring.feed(i, input::StepDone{{32, i == 2 ? std::nan("") : 1.0, 0, 0.1}});
  ring.deliver_all();
  CHECK(ring.ends == std::vector<bool>(3, false));
  CHECK(ring.scales.empty());
}

TEST_CASE("a slice of another size than the ring cuts is no slice, and no reason to crash") {
  Ring ring(3, 10, 6);
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::Start{});
  ring.feed(0, input::StepDone{{32, 1.0, 0, 0.1}});
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = PeerId(2);
  frame.slice = 2;
  frame.values = ring.models[0]->copy(std::vector<float>{1});
  ring.feed(0, input::FrameIn{frame});
  CHECK(ring.scales.empty());
  ring.feed(0, input::Stop{"stopped"});
  CHECK(ring.ends.size() == 1);
}

TEST_CASE("slices without end from the peer before, or from another, cost no memory") {
  Ring ring(3, 9, 6);
  for (std::uint32_t i = 0; i < 3; ++i) ring.feed(i, input::Start{});
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = PeerId(1);
  frame.values = ring.models[0]->copy(std::vector<float>(3));
  for (int i = 0; i < 10; ++i) ring.feed(0, input::FrameIn{frame});
  CHECK(frame.values.use_count() == 1);  // not from the peer before: nothing is kept

  frame.from = PeerId(2);
  for (long i = 1; i <= 4; ++i) {
    ring.feed(0, input::FrameIn{frame});
    CHECK(frame.values.use_count() == 1 + i);
  }
  for (int i = 0; i < 10; ++i) ring.feed(0, input::FrameIn{frame});
  CHECK(frame.values.use_count() == 1);  // one too many: the ring is broken and keeps none
  ring.feed(0, input::StepDone{{32, 1.0, 0, 0.1}});
  CHECK(ring.scales.empty());
  ring.feed(0, input::Stop{"stopped"});
  CHECK(ring.ends.size() == 1);
}
