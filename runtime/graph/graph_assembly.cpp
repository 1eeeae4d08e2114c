// SPDX-License-Identifier: Apache-2.0
// The second half of building: once all lines are in, models are joined to the sends they came
// from, and everything gets its final order.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "runtime/graph/clock_alignment.hpp"
#include "runtime/graph/graph_builder.hpp"

namespace hearsay::runtime {
namespace {

std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
  return more > less ? more - less : 0;
}

template <typename T>
void reorder(std::vector<T>& values, const std::vector<MergeGraph::Index>& order) {
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (const MergeGraph::Index i : order) sorted.push_back(std::move(values[i]));
  values = std::move(sorted);
}

std::vector<MergeGraph::Index> counting(std::size_t size) {
  std::vector<MergeGraph::Index> order(size);
  std::iota(order.begin(), order.end(), MergeGraph::Index{0});
  return order;
}

// [old index] new index
std::vector<MergeGraph::Index> places_of(const std::vector<MergeGraph::Index>& order) {
  std::vector<MergeGraph::Index> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    places[order[i]] = static_cast<MergeGraph::Index>(i);
  return places;
}

}  // namespace

MergeGraph GraphBuilder::assemble() && {
  graph_.virtual_clock = log_ > 0 && all_virtual_;
  count_training();
  join_edges();
  end_peers();
  order_peers();
  order_nodes();
  if (!graph_.virtual_clock) align_clocks(graph_);
  return std::move(graph_);
}

// What an adoption throws away was not trained along its edge.
void GraphBuilder::count_training() {
  for (MergeGraph::Node& node : graph_.nodes) {
    const TrainingClock& clock = clocks_[node.session];
    node.samples = clock.samples_at(node.t_ns);
    if (node.previous == kNone || node.kind == MergeGraph::NodeKind::adoption) continue;
    const MergeGraph::Node& before = graph_.nodes[node.previous];
    node.trained = before.session == node.session
                       ? difference(clock.trained_at(node.t_ns), clock.trained_at(before.t_ns))
                       : difference(resumed_samples_[node.session], before.samples);
  }
}

std::uint64_t GraphBuilder::trained_since(const Moment& moment) const {
  const MergeGraph::Node& node = graph_.nodes[moment.node];
  const TrainingClock& clock = clocks_[node.session];
  return difference(clock.trained_at(moment.t_ns), clock.trained_at(node.t_ns));
}

std::vector<GraphBuilder::Index> GraphBuilder::sorted_sends() {
  std::vector<Index> order = counting(sends_.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return sends_[a].key < sends_[b].key; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Key& key = sends_[order[i]].key;
    if (key == sends_[order[i - 1]].key)
      note("models sent twice under one number; the first counts", graph_.peers[key.from].name);
  }
  return order;
}

GraphBuilder::Index GraphBuilder::find_send(const std::vector<Index>& sorted,
                                            const Key& key) const {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), key,
                                      [&](Index a, const Key& k) { return sends_[a].key < k; });
  return found != sorted.end() && sends_[*found].key == key ? *found : kNone;
}

// [send] whether it is the answer to a model that had asked for one. A model that was an answer
// itself asked for none, so a chain of sends is followed to where it began.
std::vector<bool> GraphBuilder::find_answers(const std::vector<Index>& sorted) const {
  enum class State : std::uint8_t { unknown, looking, no, yes };
  std::vector<State> states(sends_.size(), State::unknown);
  std::vector<Index> chain;
  for (Index first = 0; first < sends_.size(); ++first) {
    Index at = first;
    while (at != kNone && states[at] == State::unknown) {
      states[at] = State::looking;
      chain.push_back(at);
      at = sends_[at].perhaps_answers ? find_send(sorted, *sends_[at].perhaps_answers) : kNone;
    }
    bool is_answer = at != kNone && states[at] == State::yes;  // a cycle: no
    for (; !chain.empty(); chain.pop_back()) {
      is_answer = sends_[chain.back()].perhaps_answers.has_value() && !is_answer;
      states[chain.back()] = is_answer ? State::yes : State::no;
    }
  }
  std::vector<bool> answers(sends_.size());
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i] = states[i] == State::yes;
  return answers;
}

void GraphBuilder::join_edges() {
  const std::vector<Index> sorted = sorted_sends();
  const std::vector<bool> is_answer = find_answers(sorted);
  for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
    MergeGraph::Edge& edge = graph_.edges[i];
    const Index sent = find_send(sorted, arrivals_[i].key);
    if (sent == kNone) {
      const MergeGraph::Peer& sender = graph_.peers[edge.from];
      note("models of " + sender.name +
               (sender.has_log ? " that it has logged no sending of" : ", whose log is missing"),
           graph_.peers[graph_.nodes[edge.node].peer].name + " merge " +
               std::to_string(graph_.nodes[edge.node].mseq));
      continue;
    }
    const Send& send = sends_[sent];
    const Moment& content = is_answer[sent] ? send.before : send.now;
    edge.from_node = content.node;
    edge.trained = trained_since(content);
    edge.sent_ns = send.now.t_ns;
    edge.bytes = send.bytes;
    edge.codec = send.codec;
    if (!is_answer[sent]) continue;
    Index asked = arrivals_[i].last_sent;
    while (asked != kNone && is_answer[asked]) asked = sends_[asked].earlier;
    if (asked == kNone) continue;
    edge.base_node = sends_[asked].now.node;
    edge.base_trained = trained_since(sends_[asked].now);
  }
}

void GraphBuilder::end_peers() {
  for (Index p = 0; p < graph_.peers.size(); ++p) {
    MergeGraph::Peer& peer = graph_.peers[p];
    if (!peer.has_log) continue;
    peer.last = lines_[p].node;
    peer.trained_after_last = trained_since({peer.last, peer.end_ns});
    peer.samples = clocks_[lines_[p].session].samples_at(peer.end_ns);
  }
  for (std::size_t s = 0; s < graph_.sessions.size(); ++s) {
    graph_.peers[graph_.sessions[s].peer].trained += clocks_[s].trained_at(session_ends_[s]);
  }
}

// By peer, session and order within it.
void GraphBuilder::order_nodes() {
  std::vector<Index> order = counting(graph_.nodes.size());
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    const auto &x = graph_.nodes[a], &y = graph_.nodes[b];
    return std::tie(x.peer, x.session) < std::tie(y.peer, y.session);
  });
  const std::vector<Index> places = places_of(order);
  const auto move = [&](Index& node) {
    if (node != kNone) node = places[node];
  };
  reorder(graph_.nodes, order);
  for (MergeGraph::Node& node : graph_.nodes) move(node.previous);
  for (MergeGraph::Session& session : graph_.sessions) move(session.first_node);
  for (MergeGraph::Peer& peer : graph_.peers) move(peer.last);
  for (MergeGraph::Edge& edge : graph_.edges) {
    move(edge.from_node);
    move(edge.base_node);
    move(edge.node);
  }
  for (Index n = static_cast<Index>(graph_.nodes.size()); n-- > 0;)
    graph_.peers[graph_.nodes[n].peer].first = n;
}

void GraphBuilder::order_peers() {
  std::vector<Index> order = counting(graph_.peers.size());
  const auto rank = [&](Index p) {
    return std::pair(graph_.peers[p].name.size(), std::string_view(graph_.peers[p].name));
  };
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return rank(a) < rank(b); });
  const std::vector<Index> places = places_of(order);
  reorder(graph_.peers, order);
  for (MergeGraph::Node& node : graph_.nodes) node.peer = places[node.peer];
  for (MergeGraph::Session& session : graph_.sessions) session.peer = places[session.peer];
  for (MergeGraph::Edge& edge : graph_.edges) edge.from = places[edge.from];
}

}  // namespace hearsay::runtime
