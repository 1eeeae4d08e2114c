// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/graph_statistics.hpp"

#include <string>

#include "runtime/graph/graph_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

GraphStatistics statistics_of(const MergeGraph& graph) {
  return graph_statistics(graph, find_ancestry(graph));
}

}  // namespace

TEST_CASE("degrees, partners and links are counted in both directions", "[graph]") {
  GraphLogs logs;
  for (const char* peer : {"p00", "p01", "p02"}) logs.join(0, peer);
  logs.push(10, "p00", "p01", 0.5).push(20, "p00", "p01", 0.5).push(30, "p02", "p01", 0.25);
  logs.push(40, "p01", "p00", 0.5);
  const MergeGraph graph = logs.graph();
  const GraphStatistics all = statistics_of(graph);
  CHECK(all.merges == 4);
  CHECK(all.models == 4);
  CHECK(all.peers[1].merges_in == 3);
  CHECK(all.peers[1].partners_in == 2);
  CHECK(all.peers[1].merges_out == 1);
  CHECK(all.peers[1].bytes_in == 3 * 64);
  CHECK(all.peers[0].merges_out == 2);
  CHECK(all.peers[0].partners_out == 1);
  CHECK(all.peers[2].merges_in == 0);
  REQUIRE(all.links.size() == 3);
  CHECK(all.links[0].count == 2);
  CHECK(all.links[0].alpha_sum == 1.0);
}

TEST_CASE("gaps reach from the start to the first merge and from the last to the end", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01").block(100, "p01", 1000, 10, 10);
  logs.push(100, "p00", "p01", 0.5).push(120, "p00", "p01", 0.5);
  logs.block(160, "p01", 1400, 4, 10).add(400, "p01", "peer.left", {{"reason", "finished"}});
  const GraphStatistics all = statistics_of(logs.graph());
  CHECK(all.peers[1].longest_gap_ns == 400 - 121);
  CHECK(all.peers[1].longest_gap_samples == 1000);
  CHECK(all.peers[0].longest_gap_ns == 120);
}

TEST_CASE("ages are those of the models that were taken in", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01");
  for (int i = 0; i < 20; ++i) {
    const double age = i == 0 ? 190.0 : i;
    logs.send(i, "p00", "p01", i)
        .add(i, "p01", "merge.decided",
             {{"from", "p00"},
              {"seq", i},
              {"verdict", "accept"},
              {"alpha", 0.5},
              {"age_samples", age}});
    logs.add(i, "p01", "merge.applied", {{"from", "p00"}, {"seq", i}, {"mseq", i + 1}});
  }
  const GraphStatistics all = statistics_of(logs.graph());
  CHECK(all.peers[1].age_samples_mean == Approx(19.0));
  CHECK(all.peers[1].age_samples_p50 == 10.0);
  CHECK(all.peers[1].age_samples_p95 == 19.0);
  CHECK(all.age_samples_mean == all.peers[1].age_samples_mean);
  CHECK(all.peers[0].age_samples_p95 == 0.0);
}

TEST_CASE("a graph of nothing has statistics of nothing", "[graph]") {
  const GraphStatistics all = statistics_of(GraphLogs().graph());
  CHECK(all.peers.empty());
  CHECK(all.models == 0);
}
