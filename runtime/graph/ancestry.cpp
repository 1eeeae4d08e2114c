// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/ancestry.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/graph/linear_replay.hpp"

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;

// `x` has an entry a peer and one for what is unknown.
Ancestry::Model model_of(std::vector<double> x) {
  // Displacements from a past state can leave an entry a little below 0.
  for (double& entry : x) entry = std::max(0.0, entry);
  Ancestry::Model model;
  model.samples = std::accumulate(x.begin(), x.end(), 0.0);
  if (model.samples > 0.0) {
    for (double& entry : x) entry /= model.samples;
  } else {
    model.initial = 1.0;
  }
  model.unknown = x.back();
  x.pop_back();
  model.shares = std::move(x);
  return model;
}

class Samples final : public LinearReplay::Rules {
 public:
  explicit Samples(const MergeGraph& graph) : graph_(graph), models(graph.peers.size()) {}

  void start(Index, LinearReplay::Vector) override {}
  void train(Index peer, double samples, LinearReplay::Vector x) override { x[peer] += samples; }
  void unknown(LinearReplay::Vector own, LinearReplay::Vector x) override {
    x.back() = std::accumulate(own.begin(), own.end(), 0.0);
  }
  void reached(Index node, LinearReplay::Vector x) override {
    const Index peer = graph_.nodes[node].peer;
    if (graph_.peers[peer].last != node) return;
    std::vector<double> end(x.begin(), x.end());
    end[peer] += static_cast<double>(graph_.peers[peer].trained_after_last);
    models[peer] = std::move(end);
  }

 private:
  const MergeGraph& graph_;

 public:
  std::vector<std::vector<double>> models;  // [peer], empty until reached
};

std::vector<std::vector<double>> averaged_always(const MergeGraph& graph) {
  std::vector<double> all(graph.peers.size() + 1);
  for (Index p = 0; p < graph.peers.size(); ++p)
    all[p] = static_cast<double>(graph.peers[p].trained);
  return std::vector<std::vector<double>>(graph.peers.size(), all);
}

}  // namespace

double Ancestry::Model::effective_shards() const {
  double squares = unknown * unknown;
  for (const double share : shares) squares += share * share;
  return squares > 0.0 ? 1.0 / squares : 0.0;
}

Ancestry find_ancestry(const MergeGraph& graph, Averaging averaging) {
  const std::size_t peers = graph.peers.size();
  std::vector<std::vector<double>> vectors;
  if (averaging == Averaging::of_every_step) {
    vectors = averaged_always(graph);
  } else {
    Samples rules(graph);
    LinearReplay(graph, peers + 1).run(graph.causal_order(), rules);
    vectors = std::move(rules.models);
  }
  Ancestry ancestry;
  std::vector<double> sum(peers + 1);
  double counted = 0.0;
  for (Index p = 0; p < peers; ++p) {
    if (vectors[p].empty()) {  // no log, or behind a cycle
      vectors[p].resize(peers + 1);
      vectors[p].back() = static_cast<double>(std::max<std::uint64_t>(1, graph.peers[p].samples));
    } else if (graph.peers[p].has_log) {
      for (std::size_t i = 0; i <= peers; ++i) sum[i] += vectors[p][i];
      counted += 1.0;
    }
    ancestry.models.push_back(model_of(std::move(vectors[p])));
  }
  if (counted > 0.0) {
    for (double& entry : sum) entry /= counted;
  }
  ancestry.pool = model_of(std::move(sum));
  return ancestry;
}

}  // namespace hearsay::runtime
