// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/mixing.hpp"

#include <algorithm>
#include <cmath>

#include "gossip/topology/spectral.hpp"
#include "runtime/graph/linear_replay.hpp"
#include "runtime/graph/spreads.hpp"

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;

constexpr double kRounding = 1e-20;  // of V; below it doubles have nothing left to tell

// The newest vector of every peer, and V over them after every merge.
class Disagreement final : public LinearReplay::Rules {
 public:
  explicit Disagreement(const MergeGraph& graph)
      : graph_(graph), size_(graph.peers.size()), newest_(size_, std::vector<double>(size_)) {
    for (Index p = 0; p < size_; ++p) newest_[p][p] = 1.0;
    first_ = v_ = compute();
  }

  void start(Index peer, LinearReplay::Vector x) override { x[peer] = 1.0; }
  void train(Index, double, LinearReplay::Vector) override {}
  void unknown(LinearReplay::Vector own, LinearReplay::Vector x) override {
    std::copy(own.begin(), own.end(), x.begin());
  }
  void reached(Index node, LinearReplay::Vector x) override {
    const MergeGraph::Node& n = graph_.nodes[node];
    if (n.kind != MergeGraph::NodeKind::merge || done_) return;
    std::copy(x.begin(), x.end(), newest_[n.peer].begin());
    ++merges_;
    // Once a round: V costs O(peers^2).
    if (merges_ % size_ == 0) look();
  }
  void look() {
    if (done_) return;
    v_ = compute();
    looked_at_ = merges_;
    done_ = v_ < kRounding * first_;
  }
  std::uint64_t looked_at() const { return looked_at_; }
  double left() const { return first_ > 0.0 ? v_ / first_ : 1.0; }

 private:
  double compute() const {
    std::vector<double> mean(size_);
    for (const auto& x : newest_) {
      for (std::size_t i = 0; i < size_; ++i) mean[i] += x[i] / static_cast<double>(size_);
    }
    double v = 0.0;
    for (const auto& x : newest_) {
      for (std::size_t i = 0; i < size_; ++i) v += (x[i] - mean[i]) * (x[i] - mean[i]);
    }
    return v;
  }

  const MergeGraph& graph_;
  std::size_t size_;
  std::vector<std::vector<double>> newest_;
  double first_ = 0.0, v_ = 0.0;
  std::uint64_t merges_ = 0, looked_at_ = 0;
  bool done_ = false;
};

bool is_symmetric(const MergeGraph& graph) {
  return std::any_of(graph.edges.begin(), graph.edges.end(), [](const MergeGraph::Edge& edge) {
    return edge.base_node != MergeGraph::kNone;
  });
}

std::optional<double> theory_of(const GraphStatistics& statistics, std::size_t peers,
                                bool symmetric) {
  const bool one_each = statistics.models == statistics.merges;
  if (peers > kMostPeersForTheory || statistics.models == 0 || !one_each) return std::nullopt;
  std::vector<gossip::Link> links;
  double alpha = 0.0;
  for (const LinkCount& link : statistics.links) {
    links.push_back({link.from, link.to, static_cast<double>(link.count)});
    alpha += link.alpha_sum;
  }
  alpha /= static_cast<double>(statistics.models);
  if (!symmetric) return gossip::push_contraction(peers, links, alpha);
  // One exchange is two applied merges.
  return std::sqrt(std::max(0.0, gossip::exchange_contraction(peers, links, alpha)));
}

}  // namespace

double Mixing::merges_per_e(double contraction, std::size_t peers) {
  return -1.0 / (std::log(contraction) * static_cast<double>(std::max<std::size_t>(1, peers)));
}

std::optional<Mixing> find_mixing(const MergeGraph& graph, const GraphStatistics& statistics) {
  const std::size_t peers = graph.peers.size();
  if (peers > kMostPeersForMixing) return std::nullopt;
  const std::vector<Index> order = in_time_order(graph);
  Mixing mixing;
  mixing.spreads = find_spreads(graph, order);
  mixing.is_symmetric = is_symmetric(graph);
  if (peers < 2 || statistics.merges == 0) return mixing;
  Disagreement rules(graph);
  LinearReplay(graph, peers).run(order, rules);
  rules.look();
  mixing.merges = rules.looked_at();
  mixing.left = rules.left();
  if (mixing.left > 0.0 && mixing.merges > 0)
    mixing.measured = std::pow(mixing.left, 1.0 / static_cast<double>(mixing.merges));
  mixing.theory = theory_of(statistics, peers, mixing.is_symmetric);
  return mixing;
}

}  // namespace hearsay::runtime
