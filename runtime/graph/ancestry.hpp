// SPDX-License-Identifier: Apache-2.0
// Whose data is in a model: the share of each shard in what training has moved it by.
//
// Every model carries a vector with an entry a shard, 0 at the start, as all peers begin with the
// same weights. Training on s samples of shard i adds s to entry i: a sample counts as one unit of
// movement, whatever its gradient. A merge x += alpha (y - b) does to the vectors what it does to
// the weights, so b is what the displacement was measured from (Edge::base_node). A model whose
// state is in no log counts as one of as many samples, in an entry of its own. Shares are the
// vector over its sum; so a symmetric exchange at alpha 1/2 keeps the sum over both models, and a
// push with alpha loses the share alpha of the receiver's samples.
// Invariant: shares are >= 0 and their sum with `initial` and `unknown` is 1.
// Lane: any. Cost: O(peers) an edge.
#pragma once

#include <vector>

#include "runtime/graph/merge_graph.hpp"

namespace hearsay::runtime {

struct Ancestry {
  struct Model {
    std::vector<double> shares;       // [peer]: the shard of that place
    double unknown = 0.0;             // of models that no log tells of
    double initial = 0.0;             // 1 for a model that nobody has trained, else 0
    double samples = 0.0;             // the vector's sum
    double effective_shards() const;  // inverse Simpson index, 1 / sum of squares
  };
  std::vector<Model> models;  // [peer], at the end of the run; of a peer without log all unknown
  Model pool;                 // the average of the models of peers with a log
};

// The latter: of synchronous protocols, in which all peers have one model.
enum class Averaging { by_merges, of_every_step };

Ancestry find_ancestry(const MergeGraph& graph, Averaging averaging = Averaging::by_merges);

}  // namespace hearsay::runtime
