// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/invariants.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace hearsay::runtime {
namespace {

using Events = std::vector<LoggedEvent>;

constexpr std::int64_t kMostCount = std::int64_t{1} << 62;  // one more is still a number

// Keeps the first kMaxBreaches lines and counts the rest.
class Collector {
 public:
  void add(std::string line) {
    if (lines_.size() < kMaxBreaches) {
      lines_.push_back(std::move(line));
    } else {
      ++more_;
    }
  }
  Breaches finish(std::string_view invariant) && {
    if (more_ > 0)
      lines_.push_back(std::string(invariant) + ": and " + std::to_string(more_) + " more");
    return std::move(lines_);
  }

 private:
  Breaches lines_;
  std::size_t more_ = 0;
};

std::string where(const LoggedEvent& event) {
  return event.peer + " line " + std::to_string(event.n);
}

std::optional<std::string> text_key(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::int64_t> integer_key(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();  // above its range: negative
  const bool is_count = value >= 0 && value < kMostCount;
  return is_count ? std::optional(value) : std::nullopt;
}

// One delivery of one delta: who sent what to whom.
struct Exchange {
  std::string from, to;
  std::int64_t seq = 0;
  friend auto operator<=>(const Exchange&, const Exchange&) = default;
};

std::string text_of(const Exchange& x) { return "seq " + std::to_string(x.seq) + " of " + x.from; }

// The exchange of an event of the merge graph; nothing when a key is missing (missing_merge_keys
// reports those).
std::optional<Exchange> exchange_of(const LoggedEvent& event) {
  const bool is_sender = event.ev == "delta.sent";
  const auto partner = text_key(event, is_sender ? "to" : "from");
  const auto seq = integer_key(event, "seq");
  if (!partner || !seq) return std::nullopt;
  return is_sender ? Exchange{event.peer, *partner, *seq} : Exchange{*partner, event.peer, *seq};
}

// A live peer goes on from a checkpoint: what it had done after that is undone.
bool is_resumption(const LoggedEvent& event) { return event.ev == "run.resumed"; }

// A simulated peer that was killed begins again in the same log: nothing of it is kept.
bool is_new_life(const LoggedEvent& event) {
  return event.ev == "peer.joined" && !text_key(event, "who") &&
         integer_key(event, "inc").value_or(0) > 0 && text_key(event, "reason") != "resumed";
}

bool is_usable_verdict(const LoggedEvent& event) {
  const auto verdict = text_key(event, "verdict");
  return verdict == "accept" || verdict == "scale" || verdict == "hold";
}

struct Node {
  std::string peer;
  std::int64_t session = 0;  // a resumed peer counts again from where its checkpoint stood,
                             // one that begins anew from 0
  std::int64_t mseq = 0;
  friend auto operator<=>(const Node&, const Node&) = default;
};

using Graph = std::map<Node, std::vector<Node>>;  // node -> nodes that it feeds

// A delta carries what its sender had merged when it sent; log order within a peer is its own
// order.
Graph merge_graph(const Events& events) {
  std::map<std::string, Node> at;    // where the peer is
  std::map<Exchange, Node> sent_at;  // where the sender was
  const auto here = [&](const std::string& peer) -> Node& {
    return at.emplace(peer, Node{peer}).first->second;
  };
  Graph graph;
  for (const LoggedEvent& event : events) {
    const auto exchange = exchange_of(event);
    Node& node = here(event.peer);
    if (event.ev == "merge.applied") {
      node.mseq = integer_key(event, "mseq").value_or(node.mseq + 1);
    } else if (is_resumption(event)) {
      const auto mseq = integer_key(event, "mseq").value_or(0);
      const Node before{node.peer, node.session, mseq};
      node = {node.peer, node.session + 1, mseq};
      graph[before].push_back(node);
    } else if (is_new_life(event)) {
      node = {node.peer, node.session + 1, 0};
    } else if (event.ev == "delta.sent" && exchange) {
      sent_at.emplace(*exchange, node);
    }
  }
  at.clear();
  for (const LoggedEvent& event : events) {
    const auto exchange = exchange_of(event);
    const auto mseq = integer_key(event, "mseq");
    Node& node = here(event.peer);
    if (is_resumption(event)) node = {node.peer, node.session + 1, mseq.value_or(0)};
    if (is_new_life(event)) node = {node.peer, node.session + 1, 0};
    if (event.ev != "merge.applied" || !exchange || !mseq) continue;
    node.mseq = *mseq;
    graph[{node.peer, node.session, *mseq - 1}].push_back(node);
    const auto sent = sent_at.find(*exchange);
    if (sent != sent_at.end()) graph[sent->second].push_back(node);
  }
  return graph;
}

}  // namespace

Breaches missing_merge_keys(const Events& events) {
  Collector found;
  for (const LoggedEvent& event : events) {
    const bool is_merge = event.ev == "merge.applied" || event.ev == "merge.decided";
    if (!is_merge && event.ev != "delta.sent" && event.ev != "delta.received") continue;
    std::string missing;
    if (!text_key(event, event.ev == "delta.sent" ? "to" : "from"))
      missing = event.ev == "delta.sent" ? "to" : "from";
    if (!integer_key(event, "seq")) missing = "seq";
    if (event.ev == "merge.applied" && !integer_key(event, "mseq")) missing = "mseq";
    if (event.ev == "merge.decided" && !text_key(event, "verdict")) missing = "verdict";
    if (!missing.empty())
      found.add("keys: " + where(event) + ": " + event.ev + " has no usable '" + missing + "'");
  }
  return std::move(found).finish("keys");
}

Breaches broken_line_numbers(const Events& events) {
  Collector found;
  std::map<std::string, std::uint64_t> next;
  for (const LoggedEvent& event : events) {
    std::uint64_t& expected = next[event.peer];
    if (event.n != expected) {
      found.add("n: " + where(event) + " should be line " + std::to_string(expected) +
                "; lines are lost or repeated");
    }
    expected = event.n + 1;
  }
  return std::move(found).finish("n");
}

Breaches decreasing_clocks(const Events& events) {
  Collector found;
  std::map<std::string, std::int64_t> last;
  for (const LoggedEvent& event : events) {
    const auto [entry, is_new] = last.emplace(event.peer, event.t_ns);
    if (!is_new && event.t_ns < entry->second) {
      found.add("t_ns: " + where(event) + " goes back from " + std::to_string(entry->second) +
                " to " + std::to_string(event.t_ns));
    }
    entry->second = event.t_ns;
  }
  return std::move(found).finish("t_ns");
}

Breaches broken_merge_counters(const Events& events) {
  Collector found;
  std::map<std::string, std::int64_t> last;
  for (const LoggedEvent& event : events) {
    const auto mseq = integer_key(event, "mseq");
    if (is_resumption(event)) last[event.peer] = mseq.value_or(0);
    if (is_new_life(event)) last[event.peer] = 0;
    if (event.ev != "merge.applied" || !mseq) continue;
    std::int64_t& before = last[event.peer];
    if (*mseq != before + 1) {
      found.add("mseq: " + where(event) + " has " + std::to_string(*mseq) + " after " +
                std::to_string(before));
    }
    before = *mseq;
  }
  return std::move(found).finish("mseq");
}

// A resumed peer may decide and apply once more what it had applied after its checkpoint, as that
// is undone; what it had applied before is not.
Breaches unexplained_merges(const Events& events) {
  using InSession = std::pair<Exchange, std::int64_t>;
  std::map<std::string, std::int64_t> session;
  std::map<InSession, int> decided;
  std::map<Exchange, int> received;
  for (const LoggedEvent& event : events) {
    if (is_resumption(event)) ++session[event.peer];
    const auto exchange = exchange_of(event);
    if (!exchange) continue;
    if (event.ev == "merge.decided" && is_usable_verdict(event))
      ++decided[{*exchange, session[event.peer]}];
    if (event.ev == "delta.received") ++received[*exchange];
  }
  session.clear();
  std::map<Exchange, std::int64_t> applied_as;  // mseq, unless undone
  Collector found;
  for (const LoggedEvent& event : events) {
    if (is_resumption(event)) {
      ++session[event.peer];
      const std::int64_t kept = integer_key(event, "mseq").value_or(0);
      std::erase_if(applied_as, [&](const auto& entry) {
        return entry.first.to == event.peer && entry.second > kept;
      });
    }
    const auto exchange = exchange_of(event);
    if (event.ev != "merge.applied" || !exchange) continue;
    const auto decision = decided.find({*exchange, session[event.peer]});
    const int decisions = decision != decided.end() ? decision->second : 0;
    const int arrivals = received.contains(*exchange) ? received[*exchange] : 0;
    const std::string what = "merge: " + where(event) + " applies " + text_of(*exchange);
    if (decisions != 1)
      found.add(what + ", which has " + std::to_string(decisions) + " accepting decisions, not 1");
    if (arrivals != 1)
      found.add(what + ", which has " + std::to_string(arrivals) + " arrivals, not 1");
    if (!applied_as.emplace(*exchange, integer_key(event, "mseq").value_or(0)).second)
      found.add(what + " for the second time");
  }
  return std::move(found).finish("merge");
}

Breaches unsent_deltas(const Events& events, const Events& earlier) {
  std::set<Exchange> sent;
  std::set<std::string> lost;
  for (const Events* log : {&events, &earlier}) {
    for (const LoggedEvent& event : *log) {
      const auto exchange = exchange_of(event);
      if (event.ev == "delta.sent" && exchange) sent.insert(*exchange);
      const auto who = text_key(event, "who");
      if (event.ev == "peer.lost" && who) lost.insert(*who);
      if (is_resumption(event)) lost.insert(event.peer);  // perhaps with the end of its log
    }
  }
  for (const LoggedEvent& event : earlier) lost.insert(event.peer);  // it was killed
  Collector found;
  for (const LoggedEvent& event : events) {
    const auto exchange = exchange_of(event);
    if (event.ev != "delta.received" || !exchange) continue;
    if (sent.contains(*exchange) || lost.contains(exchange->from)) continue;
    found.add("delta: " + where(event) + " receives " + text_of(*exchange) +
              ", which was never sent to it");
  }
  return std::move(found).finish("delta");
}

Breaches early_arrivals(const Events& events) {
  std::map<Exchange, std::int64_t> sent_ns;
  for (const LoggedEvent& event : events) {
    const auto exchange = exchange_of(event);
    if (event.ev == "delta.sent" && exchange) sent_ns.emplace(*exchange, event.t_ns);
  }
  Collector found;
  for (const LoggedEvent& event : events) {
    const auto exchange = exchange_of(event);
    if (event.ev != "delta.received" || !exchange) continue;
    const auto sent = sent_ns.find(*exchange);
    if (sent == sent_ns.end() || sent->second <= event.t_ns) continue;
    found.add("order: " + where(event) + " receives " + text_of(*exchange) + " at " +
              std::to_string(event.t_ns) + " ns, sent at " + std::to_string(sent->second));
  }
  return std::move(found).finish("order");
}

// Kahn 1962: take away nodes that nothing feeds; what is left lies on or behind a cycle.
Breaches merge_cycles(const Events& events) {
  const Graph graph = merge_graph(events);
  std::map<Node, std::size_t> feeds;
  for (const auto& [node, targets] : graph) {
    feeds.emplace(node, 0);
    for (const Node& target : targets) ++feeds[target];
  }
  std::vector<Node> ready;
  for (const auto& [node, count] : feeds) {
    if (count == 0) ready.push_back(node);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const Node node = std::move(ready.back());
    ready.pop_back();
    ++done;
    const auto found = graph.find(node);
    if (found == graph.end()) continue;
    for (const Node& target : found->second) {
      if (--feeds[target] == 0) ready.push_back(target);
    }
  }
  if (done == feeds.size()) return {};
  const auto first =
      std::find_if(feeds.begin(), feeds.end(), [](const auto& entry) { return entry.second > 0; });
  return {"graph: " + std::to_string(feeds.size() - done) +
          " merges lie on or behind a cycle, the first is " + first->first.peer + " merge " +
          std::to_string(first->first.mseq)};
}

Breaches broken_by_itself(const Events& events) {
  Breaches all;
  for (const auto check : {missing_merge_keys, broken_line_numbers, decreasing_clocks,
                           broken_merge_counters, unexplained_merges}) {
    Breaches more = check(events);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

Breaches broken_invariants(const Events& events, ClockKind clock, const Events& earlier) {
  Breaches all = broken_by_itself(events);
  const auto add = [&](Breaches more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  add(unsent_deltas(events, earlier));
  if (clock == ClockKind::virtual_time) add(early_arrivals(events));
  add(merge_cycles(events));
  return all;
}

}  // namespace hearsay::runtime
