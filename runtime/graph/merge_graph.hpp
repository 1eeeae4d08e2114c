// SPDX-License-Identifier: Apache-2.0
// The merge graph of a run, rebuilt from its event logs: nodes (peer, mseq), an edge for the
// training between two of them and an edge for every model that was merged.
// Invariant: every merge.applied of the logs is a node; what a log that is missing, torn or damaged
// keeps from being placed is counted and named in `gaps`, never dropped.
// Lane: any. Cost: 72 B a node, 88 B a merge edge; building sorts the sends once.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "runtime/log/run_dir.hpp"
#include "runtime/log/run_logs.hpp"

namespace hearsay::runtime {

struct MergeGraph {
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  enum class NodeKind : std::uint8_t {
    start,      // the model that a process began with
    merge,      // after merge `mseq`
    adoption,   // another peer's whole model in place of its own (a late joiner, a poisoned peer)
    resumption  // a process that goes on from a checkpoint; what followed that one is undone
  };

  struct Node {
    Index peer = kNone, session = kNone;
    NodeKind kind = NodeKind::start;
    std::uint64_t mseq = 0;
    std::int64_t t_ns = 0;         // on the pool's clock: see Session::offset_ns
    std::uint64_t samples = 0;     // the peer's counter here, as its log counts
    Index previous = kNone;        // the local edge: the node that this peer went on from
    std::uint64_t trained = 0;     // samples trained along it
    Index first_edge = 0;          // in `edges`: the models that this node took in,
    std::uint32_t edge_count = 0;  // none for a start, several under rules that hold models
  };

  // A model that went from its sender's state into a node of its receiver.
  struct Edge {
    Index from = kNone;         // peer
    std::uint64_t seq = 0;      // of its sender
    Index from_node = kNone;    // the sender's model grew from this node; kNone: not in any log
    std::uint64_t trained = 0;  // and had been trained on so many samples since
    Index node = kNone;         // where it went
    // Own weights that the displacement was measured from, when it is not the current ones: in an
    // asynchronous pairwise exchange those that this peer had sent. kNone: the current ones.
    Index base_node = kNone;
    std::uint64_t base_trained = 0;
    double alpha = 0.0;        // share of the incoming model
    double age_samples = 0.0;  // how far the receiver was ahead
    std::int64_t sent_ns = 0;  // pool's clock; 0 when the send is in no log
    std::uint64_t bytes = 0;   // payload; 0 when nobody has logged it
    Index codec = kNone;       // in `codecs`
  };

  // One process, or the part of one after a resumption.
  struct Session {
    Index peer = kNone;
    std::uint64_t number = 0;  // 0, 1, ... of this peer
    Index first_node = kNone;
    std::int64_t offset_ns = 0;  // what was added to its log's times (clock_alignment.hpp)
  };

  struct Peer {
    std::string name;
    bool has_log = false;               // false: others speak of it, nothing of its own was found
    Index first = kNone, last = kNone;  // nodes; `last` is what its final model grew from
    std::uint64_t trained_after_last = 0;
    std::uint64_t samples = 0;  // its counter at the end
    std::uint64_t trained = 0;  // over all its sessions, undone work too
    std::int64_t end_ns = 0;
    std::string left;  // reason of peer.left; empty when the log has none
    std::uint64_t sent = 0, received = 0, refused = 0;
  };

  struct Gap {
    std::string what;  // a sentence without its count
    std::uint64_t count = 0;
    std::string first;  // "p03 line 17"; empty where there is no line
  };

  std::vector<Peer> peers;  // p02 before p10
  std::vector<Session> sessions;
  std::vector<Node> nodes;  // those of one session together, in its order
  std::vector<Edge> edges;
  std::vector<std::string> codecs;
  std::vector<Gap> gaps;
  std::uint64_t events = 0;
  bool virtual_clock = false;

  std::span<const Edge> edges_of(const Node& node) const {
    return {edges.data() + node.first_edge, node.edge_count};
  }
  std::string name_of(Index node) const;  // "p03@12": a merge as `hearsay replay --until` names it
  std::uint64_t merges() const;           // nodes of that kind

  // Nodes so that each stands behind all that it grew from. Shorter than `nodes` when a damaged log
  // has made a cycle; those on or behind it are left out.
  std::vector<Index> causal_order() const;
};

// Reads line by line and keeps no events. A damaged log counts up to its damage, which is a gap.
// Throws UsageError when the run has no log at all.
MergeGraph read_merge_graph(const RunDir& run);
// The same from logs in memory.
MergeGraph build_merge_graph(const RunLogs& logs);

}  // namespace hearsay::runtime
