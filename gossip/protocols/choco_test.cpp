// SPDX-License-Identifier: Apache-2.0
// Pools of vectors that do not learn, under --protocol choco: how fast they agree, on what, and
// that loss, doubles, other orders, deaths and returns leave no wrong copy behind.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>
#include <vector>

#include "gossip/protocols/testkit_choco.hpp"
#include "kernels/core/digest.hpp"
#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace hearsay::gossip::testkit;
using hearsay::kernels::Rng;
namespace merge = hearsay::merge;

namespace {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// Theorem 2 of the paper for a ring with weights of a third: its step, and the share that is left
// of the disagreement (and of what copies lack) after a round.
struct Theorem {
  double gamma, left;
};
Theorem theorem(std::uint32_t peers, double omega) {
  const double delta = 2.0 / 3.0 * (1.0 - std::cos(2.0 * std::numbers::pi / peers));
  const double beta = 4.0 / 3.0;  // of an even ring: 1 minus its lowest eigenvalue
  const double gamma = delta * delta * omega /
                       (16.0 * delta + delta * delta + 4.0 * beta * beta +
                        2.0 * delta * beta * beta - 8.0 * delta * omega);
  return {gamma, 1.0 - delta * delta * omega / 82.0};
}

}  // namespace

TEST_CASE("with the paper's step a ring agrees at the rate of its theorem or faster") {
  for (const double omega : {0.05, 0.5}) {
    CAPTURE(omega);
    const Theorem bound = theorem(8, omega);
    Options options;
    options.gamma = bound.gamma;
    options.codec = codec_plan(CodecSettings::Kind::random, omega);
    Pool pool(options);
    pool.rounds(2);  // copies come whole first
    const double before = pool.disagreement();
    pool.rounds(400);
    CHECK(pool.disagreement() < before * std::pow(bound.left, 400));
  }
}

TEST_CASE("compressed gossip agrees linearly, with any codec, and keeps the pool's mean") {
  using Kind = CodecSettings::Kind;
  struct Case {
    std::shared_ptr<const CodecPlan> codec;
    double gamma;
  };
  for (const Case& each :
       {Case{codec_plan(Kind::topk, 0.1), 0.1}, Case{codec_plan(Kind::random, 0.3), 0.1},
        Case{codec_plan(Kind::topk, 0.1, ValueKind::int8), 0.1},
        Case{codec_plan(Kind::dense, 0, ValueKind::int4), 0.5},
        Case{codec_plan(Kind::dense, 0, ValueKind::fp32), 0.5}}) {
    CAPTURE(each.codec->text(), each.gamma);
    Options options;
    options.codec = each.codec;
    options.gamma = each.gamma;
    Pool pool(options);
    const std::vector<double> mean = pool.mean();
    pool.rounds(20);
    const double first = pool.disagreement();
    pool.rounds(60);
    const double second = pool.disagreement();
    pool.rounds(60);
    const double third = pool.disagreement();
    CHECK(second < 0.4 * first);
    CHECK((third < 0.4 * second || third < 1e-8));  // and no floor but that of fp32
    settle(pool);
    CHECK(distance(pool.mean(), mean) < 2e-6);
    CHECK(copies_apart(pool) == 0);
  }
}

TEST_CASE("peers that begin alike hold each other's copies without a byte") {
  Options options;
  options.alike = true;
  Pool pool(options);
  for (auto& model : pool.models) {
    for (std::size_t k = 0; k < kValues; ++k)
      model->w[k] += 0.01f * static_cast<float>((k * 7 + model->w.size()) % 5);
  }
  std::size_t longest = 0;
  pool.round([&] {
    for (const Frame& frame : pool.frames)
      longest = std::max(longest, frame.packed ? frame.packed->bytes.size() : 0);
    pool.deliver_all();
  });
  CHECK(longest < kValues);  // a tenth of the weights, at 4 bytes and their positions
  settle(pool);
  CHECK(copies_apart(pool) == 0);
}

TEST_CASE("messages that cross keep the mean once they have arrived") {
  Pool pool(Options{});
  const std::vector<double> mean = pool.mean();
  pool.rounds(10);
  for (int r = 0; r < 30; ++r) {
    // Nothing arrives before everybody has published three times.
    pool.round([&] {});
    if (r % 3 == 2) pool.deliver_all();
  }
  pool.rounds(2);
  settle(pool);
  CHECK(distance(pool.mean(), mean) < 2e-6);
  CHECK(copies_apart(pool) == 0);
}

TEST_CASE("lost, doubled and reordered messages are found, and copies heal") {
  Pool pool(Options{});
  pool.rounds(20);
  const std::vector<double> mean = pool.mean();
  const double before = pool.disagreement();
  Rng rng = Rng::stream(5, "choco-loss");
  int lost = 0;
  for (int r = 0; r < 100; ++r) {
    pool.round([&] {
      std::deque<Frame> some = std::exchange(pool.frames, {});
      for (std::size_t i = 0; i + 1 < some.size(); ++i) {
        if (rng.below(4) == 0) std::swap(some[i], some[i + 1]);
      }
      for (const Frame& frame : some) {
        const std::uint32_t fate = rng.below(10);
        if (fate == 0) ++lost;
        if (fate == 1) {
          pool.frames.push_back(frame);  // late
        } else if (fate > 1) {
          pool.deliver(frame);
        }
        if (fate == 2) pool.deliver(frame);  // twice
      }
    });
  }
  CHECK(lost > 100);
  CHECK(pool.disagreement() < before);
  pool.rounds(3);
  const double then = pool.disagreement();
  pool.rounds(100);
  CHECK(pool.disagreement() < 0.3 * then);
  settle(pool);
  CHECK(copies_apart(pool) == 0);
  CHECK(distance(pool.mean(), mean) < 0.05);  // halves of moves were lost; weights are of size 1
}

TEST_CASE("a peer that dies is left out, and one that comes back is told everything anew") {
  Pool pool(Options{});
  pool.rounds(20);
  pool.dead.insert(3);
  for (const std::uint32_t i : {2u, 4u}) pool.feed(i, input::PeerDown{PeerId(3)});
  const double apart = pool.disagreement();
  pool.rounds(80);
  CHECK(pool.disagreement() < 0.5 * apart);
  // Another process at its place, with other weights and no copies.
  pool.dead.clear();
  std::fill(pool.models[3]->w.begin(), pool.models[3]->w.end(), 2.0f);
  pool.begin(3, 1);
  pool.deliver_all();
  pool.rounds(4);
  const double back = pool.disagreement();
  pool.rounds(100);
  CHECK(pool.disagreement() < 0.3 * back);
  settle(pool);
  CHECK(copies_apart(pool) == 0);
}

TEST_CASE("weights that are not finite reach no copy and no neighbour's weights") {
  Pool pool(Options{});
  pool.rounds(5);
  // Peer 1 is told a whole copy full of NaN in the name of peer 0.
  std::vector<float> bad(kValues, std::nanf(""));
  const PackedView body(reinterpret_cast<const std::uint8_t*>(bad.data()), bad.size() * 4);
  ChocoHead head;
  head.is_whole = true;
  head.version = 1'000'000;
  head.base = hearsay::kernels::digest(bad).low;
  Frame frame;
  frame.kind = FrameKind::push;
  frame.from = PeerId(0);
  frame.to = PeerId(1);
  frame.seq = 1'000'000;
  frame.packed = std::make_shared<const merge::Packed>(merge::Packed{choco_bytes(head, body)});
  pool.feed(1, input::FrameIn{frame});
  pool.rounds(4);
  for (const auto& model : pool.models)
    CHECK(std::all_of(model->w.begin(), model->w.end(), [](float x) { return std::isfinite(x); }));
  CHECK(pool.peers[1]->counters().merges_refused > 0);
}

TEST_CASE("messages of any bytes are refused, and copies stay what they were") {
  Pool pool(Options{});
  pool.rounds(5);
  pool.feed(0, kStep);
  REQUIRE_FALSE(pool.frames.empty());
  const Frame good = pool.frames.front();
  pool.frames.clear();
  const std::uint32_t to = good.to.value;
  const auto before = pool.models[to]->w;
  const std::uint64_t refused = pool.peers[to]->counters().merges_refused;
  Frame frame = good;
  std::uint64_t seq = good.seq + 1000;
  const auto& bytes = good.packed->bytes;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, ChocoHead::kBytes - 1,
                                 ChocoHead::kBytes, ChocoHead::kBytes + 3, bytes.size() - 1}) {
    frame.seq = ++seq;
    frame.packed = std::make_shared<const merge::Packed>(merge::Packed{
        std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + std::ptrdiff_t(size))});
    Actions out;
    pool.peers[to]->on(input::FrameIn{frame}, pool.now, *pool.models[to], out);
    pool.peers[to]->on(kStep, pool.now, *pool.models[to], out);
  }
  CHECK(pool.peers[to]->counters().merges_refused == refused + 6);
  for (std::size_t k = 0; k < kValues; ++k)
    CHECK(std::abs(pool.models[to]->w[k] - before[k]) < 5.0f);
}

TEST_CASE("a peer taken up from its archive publishes what it would have published") {
  Pool pool(Options{});
  pool.rounds(7);
  Archive kept;
  kept("protocol", *pool.peers[2]);
  Pool again(Options{});
  again.rounds(7);
  Archive from(kept.json(), kept.arrays());
  from.of_model(kValues);
  from("protocol", *again.peers[2]);
  for (Pool* each : {&pool, &again}) {
    each->frames.clear();
    each->feed(2, kStep);
  }
  REQUIRE(pool.frames.size() == 2);
  REQUIRE(again.frames.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(pool.frames[i].packed->bytes == again.frames[i].packed->bytes);
  CHECK(pool.models[2]->w == again.models[2]->w);
  Archive::Json damaged = kept.json();
  damaged["protocol"]["exchange"]["neighbours"] = Archive::Json::array();
  Archive bad(damaged, kept.arrays());
  CHECK_THROWS_AS(bad("protocol", *again.peers[2]), ArchiveFault);
}
