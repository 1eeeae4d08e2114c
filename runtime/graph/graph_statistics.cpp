// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/graph_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;

struct Ages {
  double mean = 0.0, p50 = 0.0, p95 = 0.0;
};

// Percentiles are values that occurred: the smallest that so many do not exceed.
Ages ages_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto percentile = [&](double share) {
    return values[static_cast<std::size_t>(std::max(1.0, std::ceil(share * count))) - 1];
  };
  return {std::accumulate(values.begin(), values.end(), 0.0) / count, percentile(0.5),
          percentile(0.95)};
}

// Along what the final model grew from; undone merges do not count.
void measure_gaps(const MergeGraph& graph, Index peer, PeerStatistics& out) {
  const MergeGraph::Peer& p = graph.peers[peer];
  std::int64_t later_ns = p.end_ns;
  std::uint64_t trained = p.trained_after_last;
  std::size_t left = graph.nodes.size();  // a path longer than this would be a circle
  for (Index n = p.last; n != MergeGraph::kNone && left-- > 0; n = graph.nodes[n].previous) {
    const MergeGraph::Node& node = graph.nodes[n];
    const bool is_gap_end =
        node.kind == MergeGraph::NodeKind::merge || node.previous == MergeGraph::kNone;
    if (is_gap_end) {
      out.longest_gap_ns = std::max(out.longest_gap_ns, later_ns - node.t_ns);
      out.longest_gap_samples = std::max(out.longest_gap_samples, trained);
      later_ns = node.t_ns;
      trained = 0;
    }
    trained += node.trained;
  }
}

// One entry a merge edge, to be sorted and summed up.
std::vector<LinkCount> count_links(const MergeGraph& graph) {
  std::vector<LinkCount> links;
  links.reserve(graph.edges.size());
  for (const MergeGraph::Edge& edge : graph.edges) {
    if (graph.nodes[edge.node].kind != MergeGraph::NodeKind::merge) continue;
    links.push_back({edge.from, graph.nodes[edge.node].peer, 1, edge.bytes, edge.alpha});
  }
  std::sort(links.begin(), links.end(), [](const LinkCount& a, const LinkCount& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  std::size_t kept = 0;
  for (const LinkCount& link : links) {
    if (kept > 0 && links[kept - 1].from == link.from && links[kept - 1].to == link.to) {
      links[kept - 1].count += link.count;
      links[kept - 1].bytes += link.bytes;
      links[kept - 1].alpha_sum += link.alpha_sum;
    } else {
      links[kept++] = link;
    }
  }
  links.resize(kept);
  return links;
}

}  // namespace

GraphStatistics graph_statistics(const MergeGraph& graph, const Ancestry& ancestry) {
  GraphStatistics all;
  all.peers.resize(graph.peers.size());
  all.merges = graph.merges();
  all.links = count_links(graph);
  for (const LinkCount& link : all.links) {
    all.models += link.count;
    PeerStatistics &from = all.peers[link.from], &to = all.peers[link.to];
    from.merges_out += link.count;
    ++from.partners_out;
    to.merges_in += link.count;
    ++to.partners_in;
    to.bytes_in += link.bytes;
  }
  std::vector<double> ages, of_peer;
  for (Index n = 0; n < graph.nodes.size(); ++n) {
    const MergeGraph::Node& node = graph.nodes[n];
    for (const MergeGraph::Edge& edge : graph.edges_of(node)) {
      if (node.kind == MergeGraph::NodeKind::merge) of_peer.push_back(edge.age_samples);
    }
    const bool is_last_of_peer =
        n + 1 == graph.nodes.size() || graph.nodes[n + 1].peer != node.peer;
    if (!is_last_of_peer) continue;
    const Ages a = ages_of(of_peer);
    PeerStatistics& peer = all.peers[node.peer];
    std::tie(peer.age_samples_mean, peer.age_samples_p50, peer.age_samples_p95) =
        std::tie(a.mean, a.p50, a.p95);
    ages.insert(ages.end(), of_peer.begin(), of_peer.end());
    of_peer.clear();
  }
  const Ages a = ages_of(std::move(ages));
  std::tie(all.age_samples_mean, all.age_samples_p50, all.age_samples_p95) =
      std::tie(a.mean, a.p50, a.p95);
  for (Index p = 0; p < graph.peers.size(); ++p) {
    measure_gaps(graph, p, all.peers[p]);
    all.peers[p].self_share = ancestry.models[p].shares[p];
    all.peers[p].effective_shards = ancestry.models[p].effective_shards();
  }
  return all;
}

}  // namespace hearsay::runtime
