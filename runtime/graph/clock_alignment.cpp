// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/clock_alignment.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace hearsay::runtime {
namespace {

using Index = MergeGraph::Index;
using Pair = std::pair<Index, Index>;  // sessions

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostOffset = std::int64_t{1} << 58;  // only damage gets there
constexpr int kRounds = 64;  // of raising; two do where no clock drifts

struct Bound {
  std::int64_t forth = kUnknown, back = kUnknown;  // least time from send to merge, by raw clocks
  bool both() const { return forth != kUnknown && back != kUnknown; }
  std::int64_t width() const { return both() ? forth + back : kUnknown; }
  // Of the second session's offset over the first one's.
  std::int64_t middle() const {
    return both() ? (back - forth) / 2 : forth != kUnknown ? -forth : back;
  }
};

// The least delays between any two sessions, first < second.
std::map<Pair, Bound> find_bounds(const MergeGraph& graph) {
  std::map<Pair, Bound> bounds;
  for (const MergeGraph::Edge& edge : graph.edges) {
    if (edge.from_node == MergeGraph::kNone) continue;
    const Index from = graph.nodes[edge.from_node].session, to = graph.nodes[edge.node].session;
    if (from == to) continue;
    const std::int64_t took_ns = graph.nodes[edge.node].t_ns - edge.sent_ns;
    Bound& bound = bounds[std::minmax(from, to)];
    std::int64_t& least = from < to ? bound.forth : bound.back;
    least = std::min(least, took_ns);
  }
  return bounds;
}

// Offsets of sessions relative to the root of their tree; a union-find with distances.
class Forest {
 public:
  explicit Forest(std::size_t size) : root_(size), offset_(size), members_(size) {
    for (std::size_t i = 0; i < size; ++i) {
      root_[i] = static_cast<Index>(i);
      members_[i] = {static_cast<Index>(i)};
    }
  }
  bool joined(Index a, Index b) const { return root_[a] == root_[b]; }
  // offset(b) - offset(a) becomes `difference`; the smaller tree moves.
  void join(Index a, Index b, std::int64_t difference) {
    if (joined(a, b)) return;
    if (members_[root_[a]].size() < members_[root_[b]].size()) {
      std::swap(a, b);
      difference = -difference;
    }
    const std::int64_t shift =
        std::clamp(offset_[a] + difference, -kMostOffset, kMostOffset) - offset_[b];
    const Index from = root_[b], to = root_[a];
    for (const Index member : std::exchange(members_[from], {})) {
      offset_[member] += shift;
      root_[member] = to;
      members_[to].push_back(member);
    }
  }
  std::vector<std::int64_t>& offsets() { return offset_; }

 private:
  std::vector<Index> root_;
  std::vector<std::int64_t> offset_;
  std::vector<std::vector<Index>> members_;
};

// A session that exchanged nothing begins where its peer's session before it ended.
void join_successors(const MergeGraph& graph, Forest& forest) {
  std::vector<Index> newest(graph.peers.size(), MergeGraph::kNone);
  std::vector<std::int64_t> ends(graph.sessions.size());
  for (const MergeGraph::Node& node : graph.nodes)
    ends[node.session] = std::max(ends[node.session], node.t_ns);
  for (Index s = 0; s < graph.sessions.size(); ++s) {
    const MergeGraph::Session& session = graph.sessions[s];
    const Index before = std::exchange(newest[session.peer], s);
    if (before == MergeGraph::kNone) continue;
    const std::int64_t begin_ns = graph.nodes[session.first_node].t_ns;
    forest.join(before, s, std::max<std::int64_t>(0, ends[before] - begin_ns));
  }
}

void raise(const std::map<Pair, Bound>& bounds, std::vector<std::int64_t>& offsets) {
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    const auto at_least = [&](Index s, std::int64_t least) {
      changed = changed || offsets[s] < least;
      offsets[s] = std::max(offsets[s], least);
    };
    for (const auto& [pair, bound] : bounds) {
      if (bound.forth != kUnknown) at_least(pair.second, offsets[pair.first] - bound.forth);
      if (bound.back != kUnknown) at_least(pair.first, offsets[pair.second] - bound.back);
    }
    if (!changed) return;
  }
}

void shift(MergeGraph& graph, const std::vector<std::int64_t>& offsets) {
  for (MergeGraph::Peer& peer : graph.peers) {
    if (peer.last != MergeGraph::kNone) peer.end_ns += offsets[graph.nodes[peer.last].session];
  }
  for (MergeGraph::Edge& edge : graph.edges) {
    if (edge.from_node != MergeGraph::kNone)
      edge.sent_ns += offsets[graph.nodes[edge.from_node].session];
  }
  for (MergeGraph::Node& node : graph.nodes) node.t_ns += offsets[node.session];
  for (std::size_t s = 0; s < offsets.size(); ++s) graph.sessions[s].offset_ns = offsets[s];
}

}  // namespace

void align_clocks(MergeGraph& graph) {
  if (graph.nodes.empty()) return;
  const std::map<Pair, Bound> bounds = find_bounds(graph);
  std::vector<std::pair<std::int64_t, Pair>> by_width;
  for (const auto& [pair, bound] : bounds) by_width.emplace_back(bound.width(), pair);
  std::sort(by_width.begin(), by_width.end());
  Forest forest(graph.sessions.size());
  for (const auto& [width, pair] : by_width)
    forest.join(pair.first, pair.second, bounds.at(pair).middle());
  join_successors(graph, forest);
  std::vector<std::int64_t>& offsets = forest.offsets();
  raise(bounds, offsets);
  std::int64_t first_ns = kUnknown;
  for (const MergeGraph::Node& node : graph.nodes)
    first_ns = std::min(first_ns, node.t_ns + offsets[node.session]);
  for (std::int64_t& offset : offsets) offset -= first_ns;
  shift(graph, offsets);
}

}  // namespace hearsay::runtime
