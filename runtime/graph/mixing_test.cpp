// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/mixing.hpp"

#include <cmath>
#include <string>

#include "kernels/core/rng.hpp"
#include "runtime/graph/graph_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

std::string name(std::uint32_t p) { return "p" + std::to_string(100 + p); }

Mixing mixing_of(const MergeGraph& graph) {
  const auto mixing = find_mixing(graph, graph_statistics(graph, find_ancestry(graph)));
  REQUIRE(mixing);
  return *mixing;
}

GraphLogs random_pool(std::uint32_t peers, int merges, bool is_push, double alpha) {
  auto rng = hearsay::kernels::Rng::stream(3, "mixing");
  GraphLogs logs;
  for (std::uint32_t p = 0; p < peers; ++p) logs.join(0, name(p));
  for (int m = 0; m < merges; ++m) {
    const std::uint32_t p = rng.below(peers), q = (p + 1 + rng.below(peers - 1)) % peers;
    const std::int64_t t = 10 + 10 * m;
    is_push ? logs.push(t, name(p), name(q), alpha) : logs.exchange(t, name(p), name(q), alpha);
  }
  for (std::uint32_t p = 0; p < peers; ++p)
    logs.add(20 + 10 * merges, name(p), "peer.left", {{"reason", "finished"}});
  return logs;
}

}  // namespace

TEST_CASE("news travels along a line of pushes one after the other", "[graph]") {
  GraphLogs logs;
  for (std::uint32_t p = 0; p < 3; ++p) logs.join(0, name(p));
  logs.push(10, name(0), name(1), 0.5).push(20, name(1), name(2), 0.5);
  logs.push(30, name(2), name(0), 0.5).push(40, name(0), name(1), 0.5);
  for (std::uint32_t p = 0; p < 3; ++p) logs.add(99, name(p), "peer.left", {{"reason", "x"}});
  const Mixing mixing = mixing_of(logs.graph());
  REQUIRE(mixing.spreads.size() == 1);
  CHECK(mixing.spreads[0].from_ns == 0);
  CHECK(mixing.spreads[0].to_ns == 41);  // p1 hears of p2 by p0
  CHECK(mixing.spreads[0].merges_per_peer == Approx(4.0 / 3));
  CHECK_FALSE(mixing.is_symmetric);
}

TEST_CASE("a pool whose processes start one after the other spreads from the last start on",
          "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(3, "p01").join(5, "p02");
  logs.exchange(10, "p00", "p01").exchange(20, "p01", "p02").exchange(30, "p02", "p00");
  for (const char* peer : {"p00", "p01", "p02"}) logs.add(40, peer, "peer.left", {{"reason", "x"}});
  const Mixing mixing = mixing_of(logs.graph());
  REQUIRE_FALSE(mixing.spreads.empty());
  CHECK(mixing.spreads[0].from_ns == 5);
  CHECK(mixing.spreads[0].to_ns == 31);  // p00 is the last to hear of p02
}

TEST_CASE("a peer that is alone at first is no pool yet", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").merge(5, "p00", "p09", 1, 1).join(8, "p01").merge(9, "p00", "p09", 2, 2);
  logs.choose(10, "p01", "p00").send(10, "p01", "p00", 0).merge(11, "p00", "p01", 0, 3);
  logs.send(11, "p00", "p01", 0).merge(12, "p01", "p00", 0, 1);
  for (const char* peer : {"p00", "p01"}) logs.add(40, peer, "peer.left", {{"reason", "x"}});
  const Mixing mixing = mixing_of(logs.graph());
  REQUIRE(mixing.spreads.size() == 1);
  CHECK(mixing.spreads[0].from_ns == 8);
  CHECK(mixing.spreads[0].to_ns == 12);
}

TEST_CASE("a model that left before a spread began brings nothing of it", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01").send(5, "p00", "p01", 77);
  logs.exchange(10, "p00", "p01").merge(20, "p01", "p00", 77, 2);
  logs.add(30, "p00", "peer.left", {{"reason", "x"}})
      .add(30, "p01", "peer.left", {{"reason", "x"}});
  CHECK(mixing_of(logs.graph()).spreads.size() == 1);
}

TEST_CASE("peers that have ended are not waited for", "[graph]") {
  GraphLogs logs;
  for (std::uint32_t p = 0; p < 3; ++p) logs.join(0, name(p));
  logs.exchange(10, name(0), name(1));
  for (std::uint32_t p = 0; p < 2; ++p) logs.add(40, name(p), "peer.left", {{"reason", "x"}});
  CHECK(mixing_of(logs.graph()).spreads.size() == 1);  // p2 ended at 0
  logs.add(50, name(2), "peer.left", {{"reason", "x"}});
  CHECK(mixing_of(logs.graph()).spreads.empty());
}

TEST_CASE("random merges contract as theory says", "[graph]") {
  const bool is_push = GENERATE(false, true);
  const double alpha = GENERATE(0.5, 0.25);
  const MergeGraph graph = random_pool(8, 4000, is_push, alpha).graph();
  const Mixing mixing = mixing_of(graph);
  REQUIRE(mixing.measured);
  REQUIRE(mixing.theory);
  CHECK(mixing.is_symmetric == !is_push);
  const double one = is_push ? 1 - 2 * alpha * (1 - alpha * 7 / 8) / 7
                             : std::sqrt(1 - 4 * alpha * (1 - alpha) / 7);
  CHECK(*mixing.theory == Approx(one).margin(0.01));  // links as often as they were drawn
  // The typical course lies below the mean, and not far.
  CHECK(std::log(*mixing.measured) < 0.9 * std::log(*mixing.theory));
  CHECK(std::log(*mixing.measured) > 2.0 * std::log(*mixing.theory));
  CHECK(mixing.spreads.size() > 20);
  CHECK(mixing.left < 1e-10);
  CHECK(Mixing::merges_per_e(std::exp(-0.5), 4) == Approx(0.5));
}

TEST_CASE("a pool without merges does not mix", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01");
  const Mixing mixing = mixing_of(logs.graph());
  CHECK(mixing.spreads.empty());
  CHECK_FALSE(mixing.measured);
  CHECK(mixing.left == 1.0);
}
