// SPDX-License-Identifier: Apache-2.0
// What a merge graph says of each peer and of the pool: how many merges, with whom, how far apart
// in time and samples, how old the models were, whose data ended up where.
// Invariant: merges in and out both sum up to the graph's merge edges.
// Lane: any. Cost: O(edges log edges), and what ancestry costs.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/ancestry.hpp"
#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

struct PeerStatistics {
  std::uint64_t merges_in = 0;                      // models it took in
  std::uint64_t merges_out = 0;                     // models of its own that others took in
  std::uint64_t partners_in = 0, partners_out = 0;  // distinct
  std::uint64_t bytes_in = 0;                       // payload of the models that it took in
  // Between two merges, from its start to the first, or from the last to its end.
  std::int64_t longest_gap_ns = 0;
  std::uint64_t longest_gap_samples = 0;
  double age_samples_mean = 0.0, age_samples_p50 = 0.0, age_samples_p95 = 0.0;  // of models in
  double self_share = 0.0;  // of its own shard in its final model
  double effective_shards = 0.0;
};

// How often `to` took in models of `from`.
struct LinkCount {
  MergeGraph::Index from = 0, to = 0;
  std::uint64_t count = 0, bytes = 0;
  double alpha_sum = 0.0;
};

struct GraphStatistics {
  std::vector<PeerStatistics> peers;  // [peer]
  std::vector<LinkCount> links;       // by (from, to); only those that happened
  std::uint64_t merges = 0;           // nodes
  std::uint64_t models = 0;           // merge edges, adoptions not counted
  double age_samples_mean = 0.0, age_samples_p50 = 0.0, age_samples_p95 = 0.0;
};

GraphStatistics graph_statistics(const MergeGraph& graph, const Ancestry& ancestry);

}  // namespace hearsay::runtime
