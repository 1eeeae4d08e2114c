// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_ledger.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Archive;
using hearsay::gossip::ArchiveFault;
using hearsay::kernels::PeerId;

namespace {

Look look(float confidence) {
  return {confidence, 2.0f * confidence - 1.0f, -std::log(std::max(confidence, 1e-6f))};
}

ExampleLedger ledger(std::size_t rows = 3, std::uint32_t peers = 8) {
  return ExampleLedger(rows, PeerId(0), peers);
}

const ExampleLedger::Bounds kBounds{};

}  // namespace

TEST_CASE("broken weights teach a ledger nothing") {
  const float nan = std::nanf("");
  ExampleLedger l = ledger();
  l.validated(1, PeerId(2), {nan, nan, 1.0f}, true, kBounds);
  l.validated(1, PeerId(2), {0.5f, 0.0f, nan}, true, kBounds);
  l.trained(1, {nan, nan, nan}, 100);
  CHECK(l.evals[1] == 0);
  CHECK(l.visits[1] == 0);
  CHECK(std::isfinite(l.confidence[1]));
  l.validated(1, PeerId(2), look(0.9f), true, kBounds);
  CHECK(l.confidence[1] == 0.9f);
}

TEST_CASE("validations become moving averages, a spread, and counts") {
  ExampleLedger l = ledger();
  const float seen[] = {0.9f, 0.2f, 0.8f, 0.97f};
  for (std::uint32_t i = 0; i < 4; ++i) l.validated(1, PeerId(i), look(seen[i]), true, kBounds);
  float average = seen[0];
  for (int i = 1; i < 4; ++i) average = 0.7f * average + 0.3f * seen[i];
  CHECK(l.confidence[1] == Approx(average));
  CHECK(l.margin[1] == Approx(2.0f * average - 1.0f).margin(1e-6));
  CHECK(l.evals[1] == 4);
  CHECK(l.correct[1] == 3);
  CHECK(l.forgets[1] == 1);
  CHECK(l.since_forget[1] == 2);
  double mean = 0.0, squares = 0.0;
  for (const float value : seen) mean += value / 4.0;
  for (const float value : seen) squares += (value - mean) * (value - mean);
  CHECK(l.variability(1) == Approx(std::sqrt(squares / 3.0)));
  CHECK(l.judges[1].count(8) == 4);
  CHECK(l.evals[0] == 0);
  CHECK(l.variability(0) == 0.0f);
}

TEST_CASE("models agree on an example until one of them forgets it; those alike do not count") {
  ExampleLedger l = ledger();
  l.validated(0, PeerId(0), look(0.99f), true, kBounds);
  l.validated(0, PeerId(1), look(0.98f), false, kBounds);
  l.validated(0, PeerId(2), look(0.97f), true, kBounds);
  CHECK(l.agreed[0].count(8) == 2);
  CHECK_FALSE(l.agreed[0].has(PeerId(1), 8));
  l.validated(0, PeerId(2), look(0.6f), true, kBounds);
  CHECK(l.agreed[0].count(8) == 1);
  CHECK(l.since_forget[0] == 0);  // below `forgotten`, though still right
  CHECK(l.forgets[0] == 0);
}

TEST_CASE("the reducible loss takes the word of a model that never saw the example") {
  ExampleLedger l = ledger();
  CHECK(l.reducible_loss(0) == 0.0f);
  l.visitors[0].add(PeerId(3), 8);
  l.validated(0, PeerId(3), look(0.5f), true, kBounds);  // was trained on it
  l.trained(0, look(0.1f), 32);
  CHECK(l.reducible_loss(0) == 0.0f);
  l.validated(0, PeerId(4), look(0.9f), true, kBounds);
  CHECK(l.reducible_loss(0) == Approx(-std::log(0.1) + std::log(0.9)));
  CHECK(l.visits[0] == 1);
  CHECK(l.last_seen[0] == 32);
  CHECK(l.visitors[0].has(PeerId(0), 8));
  CHECK(l.train_confidence[0] == Approx(0.1f));
  CHECK(l.train_confidence[1] == -1.0f);
}

TEST_CASE("sets of peers are exact in pools of up to 128, and filters above") {
  PeerSet exact;
  for (const std::uint32_t peer : {0u, 63u, 64u, 127u}) exact.add(PeerId(peer), 128);
  CHECK(exact.count(128) == 4);
  CHECK(exact.has(PeerId(64), 128));
  CHECK_FALSE(exact.has(PeerId(65), 128));
  exact.remove(PeerId(64), 128);
  CHECK(exact.count(128) == 3);

  PeerSet filter;
  for (std::uint32_t peer = 0; peer < 16; ++peer) filter.add(PeerId(60 * peer), 1000);
  int strangers = 0;
  for (std::uint32_t peer = 0; peer < 1000; ++peer) {
    if (peer % 60 == 0 && peer < 960)
      REQUIRE(filter.has(PeerId(peer), 1000));
    else
      strangers += filter.has(PeerId(peer), 1000);
  }
  CHECK(strangers < 60);  // 2.4 % of 984 are expected
  CHECK(filter.count(1000) <= 16);
  CHECK(filter.count(1000) >= 10);
  filter.remove(PeerId(60), 1000);
  CHECK(filter.empty());
}

TEST_CASE("models that say the same of all examples are alike") {
  const std::vector<float> a{0.1f, 0.5f, 0.9f, 0.0f}, b{0.2f, 0.6f, 1.0f, 1.0f},
      c{0.9f, 0.5f, 0.1f, 0.0f}, flat{0.5f, 0.5f, 0.5f, 0.0f};
  const std::vector<std::uint8_t> present{1, 1, 1, 0};
  CHECK(likeness(a, b, present) == Approx(1.0));
  CHECK(likeness(a, c, present) == Approx(-1.0));
  CHECK(likeness(a, flat, present) == 0.0);
}

TEST_CASE("a ledger goes to an archive and comes back; damaged ones are refused") {
  ExampleLedger l = ledger(5);
  l.validated(2, PeerId(1), look(0.97f), true, kBounds);
  l.trained(3, look(0.2f), 640);
  l.tier[4] = Tier::quarantine;
  l.kept.push_back({PeerId(6), {0.1f, 0.2f, 0.3f, 0.4f, 0.5f}});
  Archive out;
  out("ledger", l);
  ExampleLedger back = ledger(5);
  Archive in(out.json(), out.arrays());
  in("ledger", back);
  CHECK(back.confidence == l.confidence);
  CHECK(back.agreed == l.agreed);
  CHECK(back.visits == l.visits);
  CHECK(back.tier == l.tier);
  REQUIRE(back.kept.size() == 1);
  CHECK(back.kept[0].confidence == l.kept[0].confidence);

  const auto refused = [&](const char* key, Archive::Json value) {
    Archive::Json json = out.json();
    json["ledger"][key] = std::move(value);
    Archive damaged(json, out.arrays());
    ExampleLedger other = ledger(5);
    CHECK_THROWS_AS(damaged("ledger", other), ArchiveFault);
  };
  refused("rows", 6);
  refused("rows", -1);
  refused("tier", out.json()["ledger"]["confidence"]);
  refused("visits", nullptr);
  refused("kept", Archive::Json::array({0, 1, 2, 3, 4}));
}
