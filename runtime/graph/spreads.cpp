// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/spreads.hpp"

#include <algorithm>
#include <cstdint>

#include "runtime/graph/mixing.hpp"

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;

// Whom something has come from since the spread began, for every node of it.
class SpreadFinder {
 public:
  SpreadFinder(const MergeGraph& graph, const std::vector<Index>& order)
      : graph_(graph),
        order_(order),
        words_((graph.peers.size() + 63) / 64),
        heard_(graph.nodes.size() * words_),
        round_of_(graph.nodes.size()),
        newest_(graph.peers.size(), MergeGraph::kNone) {}

  std::vector<Spread> find() {
    if (order_.empty() || graph_.peers.size() < 2) return {};
    begin(graph_.nodes[order_.front()].t_ns);
    for (const Index n : order_) visit(n);
    return std::move(found_);
  }

 private:
  std::uint64_t* heard(Index node) { return heard_.data() + node * words_; }

  // Those who are there now and have not ended.
  void choose_members(std::int64_t t_ns) {
    members_.assign(words_, 0);
    member_count_ = 0;
    next_end_ns_ = INT64_MAX;
    for (Index p = 0; p < graph_.peers.size(); ++p) {
      const MergeGraph::Peer& peer = graph_.peers[p];
      const bool is_there =
          peer.has_log && graph_.nodes[peer.first].t_ns <= began_ns_ && peer.end_ns >= t_ns;
      if (!is_there) continue;
      members_[p / 64] |= std::uint64_t{1} << (p % 64);
      ++member_count_;
      next_end_ns_ = std::min(next_end_ns_, peer.end_ns);
    }
  }

  void begin(std::int64_t t_ns) {
    began_ns_ = t_ns;
    ++round_;
    merges_ = 0;
    choose_members(t_ns);
    complete_.assign(graph_.peers.size(), false);
    complete_count_ = 0;
  }

  bool is_member(Index p) const { return (members_[p / 64] >> (p % 64) & 1) != 0; }
  bool has_all(Index node) {
    for (std::size_t w = 0; w < words_; ++w) {
      if ((members_[w] & ~heard(node)[w]) != 0) return false;
    }
    return true;
  }

  void take(Index node, Index from, Index from_peer, bool after_begin) {
    if (from == MergeGraph::kNone || !after_begin) return;
    std::uint64_t* own = heard(node);
    own[from_peer / 64] |= std::uint64_t{1} << (from_peer % 64);
    if (round_of_[from] != round_) return;
    for (std::size_t w = 0; w < words_; ++w) own[w] |= heard(from)[w];
  }

  void visit(Index n) {
    const MergeGraph::Node& node = graph_.nodes[n];
    // Processes of one pool start one after the other: it begins with the last before any merge.
    const bool is_early = node.kind == MergeGraph::NodeKind::start && merges_ == 0;
    if (is_early || member_count_ < 2) begin(node.t_ns);
    if (node.t_ns > next_end_ns_) members_changed(node.t_ns);
    round_of_[n] = round_;
    take(n, n, node.peer, true);
    if (node.kind != MergeGraph::NodeKind::adoption) take(n, node.previous, node.peer, true);
    for (const MergeGraph::Edge& edge : graph_.edges_of(node))
      take(n, edge.from_node, edge.from, edge.sent_ns >= began_ns_);
    if (node.kind == MergeGraph::NodeKind::merge) ++merges_;
    newest_[node.peer] = n;
    note_complete(n);
    end_when_complete(node.t_ns);
  }

  void note_complete(Index n) {
    const Index peer = graph_.nodes[n].peer;
    if (complete_[peer] || !is_member(peer) || round_of_[n] != round_ || !has_all(n)) return;
    complete_[peer] = true;
    ++complete_count_;
  }

  void members_changed(std::int64_t t_ns) {
    choose_members(t_ns);
    complete_.assign(graph_.peers.size(), false);
    complete_count_ = 0;
    for (const Index n : newest_) {
      if (n != MergeGraph::kNone) note_complete(n);
    }
  }

  void end_when_complete(std::int64_t t_ns) {
    if (member_count_ < 2 || complete_count_ < member_count_ || t_ns <= began_ns_) return;
    found_.push_back(
        {began_ns_, t_ns, static_cast<double>(merges_) / static_cast<double>(member_count_)});
    begin(t_ns);
  }

  const MergeGraph& graph_;
  const std::vector<Index>& order_;
  std::size_t words_;
  std::vector<std::uint64_t> heard_;     // [node * words]
  std::vector<std::uint32_t> round_of_;  // [node]
  std::vector<Index> newest_;            // [peer]
  std::vector<std::uint64_t> members_;
  std::vector<bool> complete_;  // [peer]
  std::size_t member_count_ = 0, complete_count_ = 0;
  std::int64_t began_ns_ = 0, next_end_ns_ = 0;
  std::uint32_t round_ = 0;
  std::uint64_t merges_ = 0;
  std::vector<Spread> found_;
};

}  // namespace

std::vector<Index> in_time_order(const MergeGraph& graph) {
  std::vector<Index> order = graph.causal_order();
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return graph.nodes[a].t_ns < graph.nodes[b].t_ns; });
  return order;
}

std::vector<Spread> find_spreads(const MergeGraph& graph, const std::vector<Index>& order) {
  return SpreadFinder(graph, order).find();
}

}  // namespace hearsay::runtime
