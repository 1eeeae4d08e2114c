// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/linear_replay.hpp"

#include <algorithm>

namespace hearsay::runtime {

LinearReplay::LinearReplay(const MergeGraph& graph, std::size_t width)
    : graph_(graph),
      width_(width),
      uses_(graph.nodes.size()),
      slots_(graph.nodes.size(), kNone),
      incoming_(width),
      base_(width),
      moved_(width) {
  for (const MergeGraph::Node& node : graph.nodes) {
    if (node.previous != kNone) ++uses_[node.previous];
    for (const MergeGraph::Edge& edge : graph.edges_of(node)) {
      if (edge.from_node != kNone) ++uses_[edge.from_node];
      if (edge.base_node != kNone) ++uses_[edge.base_node];
    }
  }
}

void LinearReplay::take_slot(Index node) {
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(storage_.size()));
    storage_.emplace_back(width_);
  }
  slots_[node] = free_.back();
  free_.pop_back();
}

void LinearReplay::used(Index node) {
  if (node == kNone || --uses_[node] > 0 || slots_[node] == kNone) return;
  free_.push_back(slots_[node]);
  slots_[node] = kNone;
}

void LinearReplay::state_of(Index node, Index peer, double trained, Rules& rules, Vector own,
                            Vector x) {
  if (node == kNone || slots_[node] == kNone) {
    std::fill(x.begin(), x.end(), 0.0);
    return rules.unknown(own, x);
  }
  const Vector from = at(node);
  std::copy(from.begin(), from.end(), x.begin());
  rules.train(peer, trained, x);
}

void LinearReplay::step(Index node, Rules& rules) {
  const MergeGraph::Node& n = graph_.nodes[node];
  take_slot(node);
  const Vector own = at(node);
  std::fill(own.begin(), own.end(), 0.0);
  if (n.previous != kNone && slots_[n.previous] != kNone) {
    const Vector before = at(n.previous);
    std::copy(before.begin(), before.end(), own.begin());
  } else {
    rules.start(n.peer, own);
  }
  rules.train(n.peer, static_cast<double>(n.trained), own);
  std::fill(moved_.begin(), moved_.end(), 0.0);
  for (const MergeGraph::Edge& edge : graph_.edges_of(n)) {
    state_of(edge.from_node, edge.from, static_cast<double>(edge.trained), rules, own, incoming_);
    const bool has_base = edge.base_node != kNone && slots_[edge.base_node] != kNone;
    if (has_base)
      state_of(edge.base_node, n.peer, static_cast<double>(edge.base_trained), rules, own, base_);
    const Vector base = has_base ? Vector(base_) : own;
    for (std::size_t i = 0; i < width_; ++i) moved_[i] += edge.alpha * (incoming_[i] - base[i]);
  }
  for (std::size_t i = 0; i < width_; ++i) own[i] += moved_[i];
  rules.reached(node, own);
  used(n.previous);
  for (const MergeGraph::Edge& edge : graph_.edges_of(n)) {
    used(edge.from_node);
    used(edge.base_node);
  }
  if (uses_[node] == 0) {
    free_.push_back(slots_[node]);
    slots_[node] = kNone;
  }
}

void LinearReplay::run(const std::vector<Index>& order, Rules& rules) {
  for (const Index node : order) step(node, rules);
}

}  // namespace hearsay::runtime
