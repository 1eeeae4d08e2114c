// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/merge_graph.hpp"

#include <algorithm>
#include <map>

#include "kernels/core/errc.hpp"
#include "runtime/graph/graph_testkit.hpp"
#include "runtime/log/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using Kind = MergeGraph::NodeKind;
using Index = MergeGraph::Index;

namespace {

Index find(const MergeGraph& graph, const std::string& name, Kind kind = Kind::merge) {
  for (Index n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind == kind && graph.name_of(n) == name) return n;
  }
  FAIL("no node " << name);
  return MergeGraph::kNone;
}

const MergeGraph::Edge& only_edge(const MergeGraph& graph, const std::string& name) {
  const auto edges = graph.edges_of(graph.nodes[find(graph, name)]);
  REQUIRE(edges.size() == 1);
  return edges[0];
}

}  // namespace

TEST_CASE("a push is one node with a local edge and a merge edge", "[graph]") {
  const MergeGraph graph = GraphLogs()
                               .join(0, "p00")
                               .join(0, "p01")
                               .block(10, "p00", 100)
                               .block(20, "p01", 40, 10, 2)
                               .push(20, "p00", "p01", 0.25)
                               .graph();
  REQUIRE(graph.peers.size() == 2);
  REQUIRE(graph.nodes.size() == 3);
  CHECK(graph.merges() == 1);
  const auto& node = graph.nodes[find(graph, "p01@1")];
  CHECK(node.previous == find(graph, "p01@0", Kind::start));
  CHECK(node.trained == 40);
  CHECK(node.t_ns == 21);
  const auto& edge = only_edge(graph, "p01@1");
  CHECK(edge.from_node == find(graph, "p00@0", Kind::start));
  CHECK(edge.trained == 100);
  CHECK(edge.alpha == 0.25);
  CHECK(edge.bytes == 64);
  CHECK(graph.codecs[edge.codec] == "raw");
  CHECK(edge.base_node == MergeGraph::kNone);
  CHECK(graph.gaps.empty());
}

TEST_CASE("an answer carries what its sender had before it merged the question", "[graph]") {
  GraphLogs logs;
  logs.join(0, "p00").join(0, "p01").block(10, "p00", 100).block(10, "p01", 60);
  const MergeGraph graph = logs.exchange(10, "p00", "p01").graph();
  const auto& question = only_edge(graph, "p01@1");
  const auto& answer = only_edge(graph, "p00@1");
  CHECK(question.from_node == find(graph, "p00@0", Kind::start));
  CHECK(question.base_node == MergeGraph::kNone);
  CHECK(answer.from_node == find(graph, "p01@0", Kind::start));
  CHECK(answer.trained == 60);
  CHECK(answer.base_node == find(graph, "p00@0", Kind::start));
  CHECK(answer.base_trained == 100);
}

// p00 asks p01; p01's own question crosses; p00 answers that before its own answer comes.
TEST_CASE("crossed exchanges are told apart", "[graph]") {
  const MergeGraph graph = GraphLogs()
                               .choose(10, "p00", "p01")
                               .send(10, "p00", "p01", 0)
                               .choose(11, "p01", "p00")
                               .send(11, "p01", "p00", 0)
                               .merge(12, "p00", "p01", 0, 1)
                               .send(12, "p00", "p01", 1)
                               .merge(13, "p01", "p00", 0, 1)
                               .send(13, "p01", "p00", 1)
                               .merge(14, "p00", "p01", 1, 2)
                               .merge(15, "p01", "p00", 1, 2)
                               .graph();
  CHECK(only_edge(graph, "p00@1").base_node == MergeGraph::kNone);
  CHECK(only_edge(graph, "p01@1").base_node == MergeGraph::kNone);
  const auto& to_p00 = only_edge(graph, "p00@2");
  CHECK(to_p00.from_node == find(graph, "p01@0", Kind::start));
  CHECK(to_p00.base_node == find(graph, "p00@0", Kind::start));
  CHECK(only_edge(graph, "p01@2").base_node == find(graph, "p01@0", Kind::start));
}

// In the end game the next question follows an answer at once, to the same peer or not.
TEST_CASE("a question right after an answer is no answer", "[graph]") {
  const MergeGraph graph = GraphLogs()
                               .exchange(10, "p00", "p01")
                               .send(12, "p00", "p01", 1)
                               .merge(13, "p01", "p00", 1, 2)
                               .send(13, "p01", "p00", 1)
                               .merge(14, "p00", "p01", 1, 2)
                               .graph();
  CHECK(only_edge(graph, "p01@2").from_node == find(graph, "p00@1"));
  CHECK(only_edge(graph, "p01@2").base_node == MergeGraph::kNone);
  CHECK(only_edge(graph, "p00@2").from_node == find(graph, "p01@1"));
  CHECK(only_edge(graph, "p00@2").base_node == find(graph, "p00@1"));
}

TEST_CASE("models that were held go into one node together", "[graph]") {
  GraphLogs logs;
  logs.send(1, "p01", "p00", 0).send(1, "p02", "p00", 0).send(2, "p01", "p00", 1);
  logs.decide(3, "p00", "p01", 0, 0.6, "hold").decide(4, "p00", "p01", 1, 0.6, "hold");
  logs.decide(5, "p00", "p02", 0, 0.6, "hold");
  logs.add(5, "p00", "merge.applied", {{"from", "p02"}, {"seq", 0}, {"models", 2}, {"mseq", 1}});
  const MergeGraph graph = logs.graph();
  const auto edges = graph.edges_of(graph.nodes[find(graph, "p00@1")]);
  REQUIRE(edges.size() == 2);  // the newer one of p01
  CHECK(edges[0].seq == 1);
  CHECK(edges[0].alpha == Approx(0.2));
  CHECK(graph.peers[edges[1].from].name == "p02");
}

TEST_CASE("a resumed peer goes on from the merge of its checkpoint", "[graph]") {
  GraphLogs logs;
  logs.block(10, "p00", 100).push(10, "p01", "p00", 0.5).block(20, "p00", 200);
  logs.push(20, "p01", "p00", 0.5).choose(22, "p00", "p01").send(22, "p00", "p01", 7);
  logs.merge(23, "p01", "p00", 7, 1);
  logs.add(30, "p00", "run.resumed", {{"samples", 150}, {"steps", 15}, {"mseq", 1}, {"inc", 1}});
  logs.join(30, "p00", 1, "resumed").block(40, "p00", 250).push(41, "p01", "p00", 0.5);
  const MergeGraph graph = logs.graph();
  const Index resumed = find(graph, "p00@1", Kind::resumption);
  CHECK(graph.nodes[resumed].previous == find(graph, "p00@1"));
  CHECK(graph.nodes[resumed].trained == 50 - 10);  // the merge was one tenth into the block
  CHECK(graph.peers[0].last == graph.nodes.size() - 1 - 2);
  // What p01 has of the undone part stays where it came from.
  CHECK(only_edge(graph, "p01@1").from_node == find(graph, "p00@2"));
  CHECK(graph.gaps.empty());
}

TEST_CASE("a late joiner grows from its donor", "[graph]") {
  GraphLogs logs;
  logs.block(10, "p00", 100).send(12, "p00", "p01", 3);
  logs.join(11, "p01", 1, "late")
      .add(13, "p01", "state.adopted", {{"from", "p00"}, {"seq", 3}, {"samples", 100}});
  logs.block(23, "p01", 160);
  const MergeGraph graph = logs.graph();
  const auto& adopted = graph.nodes[find(graph, "p01@0", Kind::adoption)];
  CHECK(adopted.samples == 100);
  REQUIRE(adopted.edge_count == 1);
  CHECK(graph.edges_of(adopted)[0].from_node == find(graph, "p00@0", Kind::start));
  CHECK(graph.edges_of(adopted)[0].alpha == 1.0);
  CHECK(graph.peers[1].trained == 60);
  CHECK(graph.peers[1].trained_after_last == 60);
  CHECK(graph.peers[1].samples == 160);
}

TEST_CASE("what cannot be placed is counted and named", "[graph]") {
  GraphLogs logs;
  logs.merge(5, "p00", "p09", 4, 1).merge(6, "p00", "p09", 5, 2);
  logs.add(7, "p00", "merge.applied", {{"from", "p09"}, {"seq", 6}, {"mseq", 3}});
  logs.add(8, "p00", "delta.sent", {{"seq", "x"}});
  const MergeGraph graph = logs.graph();
  CHECK(graph.merges() == 3);
  CHECK(gap_count(graph, "models of p09, whose log is missing") == 3);
  CHECK(gap_count(graph, "without their decision") == 1);
  CHECK(gap_count(graph, "delta.sent lines without usable keys") == 1);
  REQUIRE(graph.peers.size() == 2);
  CHECK_FALSE(graph.peers[1].has_log);
}

TEST_CASE("processes that count time from their own starts are put on one clock", "[graph]") {
  // p01 began 1000 later; each model takes 4 from boundary to boundary.
  GraphLogs logs(false);
  logs.choose(1100, "p00", "p01").send(1100, "p00", "p01", 0).merge(1108, "p00", "p01", 0, 1);
  logs.new_log().merge(104, "p01", "p00", 0, 1).send(104, "p01", "p00", 0);
  const MergeGraph graph = logs.graph();
  CHECK_FALSE(graph.virtual_clock);
  const auto& ask = graph.nodes[find(graph, "p01@1")];
  const auto& answer = graph.nodes[find(graph, "p00@1")];
  CHECK(answer.t_ns - ask.t_ns == 4);
  CHECK(ask.t_ns - only_edge(graph, "p01@1").sent_ns == 4);
  CHECK(std::min_element(graph.nodes.begin(), graph.nodes.end(), [](const auto& a, const auto& b) {
          return a.t_ns < b.t_ns;
        })->t_ns == 0);
}

TEST_CASE("peers are ordered by number and causes come before effects", "[graph]") {
  GraphLogs logs;
  for (int i = 0; i < 12; ++i) logs.exchange(10 + 10 * i, "p" + std::to_string(90 + i), "p100");
  const MergeGraph graph = logs.graph();
  REQUIRE(graph.peers.size() == 12);
  CHECK(graph.peers.back().name == "p101");
  CHECK(graph.peers.front().name == "p90");
  const auto order = graph.causal_order();
  REQUIRE(order.size() == graph.nodes.size());
  std::map<Index, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (Index n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].previous != MergeGraph::kNone)
      CHECK(place[graph.nodes[n].previous] < place[n]);
    for (const auto& edge : graph.edges_of(graph.nodes[n])) {
      CHECK(edge.node == n);
      CHECK(place[edge.from_node] < place[n]);
    }
  }
}

TEST_CASE("a damaged log counts up to its damage", "[graph]") {
  const TempDir folder;
  const std::string lines =
      R"({"ev":"run.started","schema":1,"clock":"virtual"})"
      "\n"
      R"({"ev":"delta.sent","t_ns":1,"peer":"p00","n":0,"to":"p01","seq":0})"
      "\n"
      R"({"ev":"merge.decided","t_ns":2,"peer":"p01","n":0,"from":"p00","seq":0,)"
      R"("verdict":"accept","alpha":0.5})"
      "\n"
      R"({"ev":"merge.applied","t_ns":2,"peer":"p01","n":1,"from":"p00","seq":0,"mseq":1})"
      "\n";
  write_text(folder.file("events.jsonl"), lines + "{garbage}\n" + "{\"ev\":1}\n");
  const MergeGraph graph = read_merge_graph(RunDir::open(folder.path()));
  CHECK(graph.merges() == 1);
  CHECK(gap_count(graph, "damaged logs") == 1);
  CHECK(only_edge(graph, "p01@1").from_node == find(graph, "p00@0", Kind::start));
  write_text(folder.file("events.jsonl"), lines + "{\"ev\":\"merg");
  CHECK(gap_count(read_merge_graph(RunDir::open(folder.path())), "torn end") == 1);
  std::filesystem::remove(folder.file("events.jsonl"));
  CHECK_THROWS_AS(read_merge_graph(RunDir::open(folder.path())), hearsay::kernels::UsageError);
}
