// SPDX-License-Identifier: Apache-2.0
// Carries vectors through a merge graph as the run carried weights: a merge moves the receiver's by
// alpha times what came minus what it was measured from, training adds to it. Whatever is linear in
// the weights can be followed so, without any weights.
// Invariant: a vector lives until its last use. Lane: any. Cost: O(width) an edge; memory for the
// vectors in use at a time, about two a peer and what is on its way.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

class LinearReplay {
 public:
  using Index = MergeGraph::Index;
  using Vector = std::span<double>;

  struct Rules {
    virtual ~Rules() = default;
    virtual void start(Index peer, Vector x) = 0;  // x is 0
    virtual void train(Index peer, double samples, Vector x) = 0;
    // A model of which no log knows the state came to a peer that stands at `own`.
    virtual void unknown(Vector own, Vector x) = 0;
    virtual void reached(Index node, Vector x) = 0;
  };

  LinearReplay(const MergeGraph& graph, std::size_t width);
  // Nodes in an order that has causes first; what stands too early counts as unknown.
  void run(const std::vector<Index>& order, Rules& rules);

 private:
  static constexpr Index kNone = MergeGraph::kNone;
  Vector at(Index node) { return {storage_[slots_[node]].data(), width_}; }
  void take_slot(Index node);
  void used(Index node);
  void step(Index node, Rules& rules);
  void state_of(Index node, Index peer, double trained, Rules& rules, Vector own, Vector x);

  const MergeGraph& graph_;
  std::size_t width_;
  std::vector<Index> uses_, slots_;  // [node]
  std::vector<std::vector<double>> storage_;
  std::vector<Index> free_;
  std::vector<double> incoming_, base_, moved_;
};

}  // namespace hearsay::runtime
