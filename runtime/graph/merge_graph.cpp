// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/merge_graph.hpp"

#include <algorithm>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/graph/graph_builder.hpp"

namespace hearsay::runtime {

std::string MergeGraph::name_of(Index node) const {
  const Node& n = nodes[node];
  return peers[n.peer].name + "@" + std::to_string(n.mseq);
}

std::uint64_t MergeGraph::merges() const {
  return static_cast<std::uint64_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const Node& node) { return node.kind == NodeKind::merge; }));
}

// Kahn 1962, with the nodes that each feeds in one array.
std::vector<MergeGraph::Index> MergeGraph::causal_order() const {
  std::vector<Index> first_fed(nodes.size() + 1), needs(nodes.size());
  const auto each_need = [&](auto&& visit) {
    for (Index n = 0; n < nodes.size(); ++n) {
      if (nodes[n].previous != kNone) visit(nodes[n].previous, n);
      for (const Edge& edge : edges_of(nodes[n])) {
        if (edge.from_node != kNone) visit(edge.from_node, n);
        if (edge.base_node != kNone) visit(edge.base_node, n);
      }
    }
  };
  each_need([&](Index from, Index to) {
    ++first_fed[from + 1];
    ++needs[to];
  });
  for (std::size_t i = 1; i < first_fed.size(); ++i) first_fed[i] += first_fed[i - 1];
  std::vector<Index> fed(first_fed.back()), next(first_fed.begin(), first_fed.end() - 1);
  each_need([&](Index from, Index to) { fed[next[from]++] = to; });
  std::vector<Index> order;
  order.reserve(nodes.size());
  for (Index n = 0; n < nodes.size(); ++n) {
    if (needs[n] == 0) order.push_back(n);
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    for (Index i = first_fed[order[done]]; i < first_fed[order[done] + 1]; ++i) {
      if (--needs[fed[i]] == 0) order.push_back(fed[i]);
    }
  }
  return order;
}

MergeGraph read_merge_graph(const RunDir& run) {
  const std::vector<RunLogFile> files = run_log_files(run);
  if (files.empty())
    throw kernels::UsageError(run.path() + ": there is no event log in this folder");
  GraphBuilder builder;
  const EventScan scan{[&](const nlohmann::ordered_json& header) { builder.begin_log(header); },
                       [&](LoggedEvent&& event) { builder.add(event); }};
  for (const RunLogFile& file : files) {
    try {
      const EventLog log = scan_events(file.path, scan);
      if (log.truncated)
        builder.note("logs with a torn end",
                     file.path + " at byte " + std::to_string(log.truncated_at_bytes));
    } catch (const kernels::Fault& fault) {
      builder.note("damaged logs, read up to the damage", fault.what());
    }
  }
  return std::move(builder).assemble();
}

MergeGraph build_merge_graph(const RunLogs& logs) {
  GraphBuilder builder;
  for (const auto* each : {&logs.earlier, &logs.logs}) {
    for (const RunLogs::One& one : *each) {
      builder.begin_log(one.log.header);
      for (const LoggedEvent& event : one.log.events) builder.add(event);
      if (one.log.truncated)
        builder.note("logs with a torn end",
                     one.path + " at byte " + std::to_string(one.log.truncated_at_bytes));
    }
  }
  for (const std::string& line : logs.damaged) builder.note("damaged logs, left out", line);
  return std::move(builder).assemble();
}

}  // namespace hearsay::runtime
