// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace hearsay::runtime {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 61;      // sums of two such counts fit
constexpr std::int64_t kMostTime = std::int64_t{1} << 54;  // ns, 208 days
constexpr std::string_view kWholePool = "pool";

std::optional<std::string> text_key(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::uint64_t> count_key(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  return value >= 0 && value < kMost ? std::optional<std::uint64_t>(value) : std::nullopt;
}

// Finite numbers only.
std::optional<double> number_key(const LoggedEvent& event, const char* key) {
  const auto found = event.fields.find(key);
  if (found == event.fields.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string where(const LoggedEvent& event) {
  return event.peer + " line " + std::to_string(event.n);
}

}  // namespace

void GraphBuilder::begin_log(const nlohmann::ordered_json& header) {
  ++log_;
  const auto clock = header.find("clock");
  all_virtual_ = all_virtual_ && clock != header.end() && *clock == "virtual";
}

void GraphBuilder::note(const std::string& what, const std::string& where) {
  const auto [found, is_new] = gap_ids_.emplace(what, static_cast<Index>(graph_.gaps.size()));
  if (is_new) graph_.gaps.push_back({what, 0, where});
  ++graph_.gaps[found->second].count;
}

void GraphBuilder::unusable(const LoggedEvent& event) {
  note(event.ev + " lines without usable keys", where(event));
}

GraphBuilder::Index GraphBuilder::peer_index(const std::string& name) {
  const auto [found, is_new] = peer_ids_.emplace(name, static_cast<Index>(graph_.peers.size()));
  if (is_new) {
    graph_.peers.emplace_back().name = name;
    lines_.emplace_back();
  }
  return found->second;
}

GraphBuilder::Index GraphBuilder::add_node(Index peer, MergeGraph::NodeKind kind, std::int64_t t_ns,
                                           std::uint64_t mseq) {
  Line& line = lines_[peer];
  const auto index = static_cast<Index>(graph_.nodes.size());
  MergeGraph::Node& node = graph_.nodes.emplace_back();
  node.peer = peer;
  node.session = line.session;
  node.kind = kind;
  node.mseq = mseq;
  node.t_ns = t_ns;
  node.previous = line.node;
  node.first_edge = static_cast<Index>(graph_.edges.size());
  line.node = index;
  line.mseq = mseq;
  line.path.emplace_back(mseq, index);
  return index;
}

void GraphBuilder::begin_session(Index peer, std::int64_t t_ns, MergeGraph::NodeKind kind,
                                 std::uint64_t mseq, std::uint64_t samples, Index previous) {
  Line& line = lines_[peer];
  const std::uint64_t number = line.session == kNone ? 0 : graph_.sessions[line.session].number + 1;
  line.session = static_cast<Index>(graph_.sessions.size());
  line.log = log_;
  line.held.clear();
  line.judged.reset();
  line.served.reset();
  line.node = previous;
  if (previous == kNone) line.path.clear();
  clocks_.emplace_back().begin(t_ns, samples);
  resumed_samples_.push_back(samples);
  session_ends_.push_back(t_ns);
  const Index node = add_node(peer, kind, t_ns, mseq);
  graph_.sessions.push_back({peer, number, node, 0});
}

void GraphBuilder::add(const LoggedEvent& event) {
  ++graph_.events;
  if (event.peer == kWholePool) return;
  const Index peer = peer_index(event.peer);
  graph_.peers[peer].has_log = true;
  Line& line = lines_[peer];
  const std::int64_t t_ns = std::clamp(event.t_ns, -kMostTime, kMostTime);
  if (event.ev == "run.resumed") {
    on_resumed(event, peer, t_ns);
  } else if (line.log != log_) {  // the first line of a process
    begin_session(peer, t_ns, MergeGraph::NodeKind::start, 0, 0, kNone);
    line.incarnation = static_cast<std::int64_t>(count_key(event, "inc").value_or(0));
  }
  const Index chosen = std::exchange(line.chosen, kNone);
  if (event.ev == "delta.sent") {
    line.chosen = chosen;
    on_sent(event, peer, t_ns);
    line.chosen = kNone;
  } else if (event.ev == "delta.received") {
    ++graph_.peers[peer].received;
    line.served.reset();
  } else if (event.ev == "merge.decided") {
    on_decided(event, peer, t_ns);
  } else if (event.ev == "merge.applied") {
    on_applied(event, peer, t_ns);
  } else {
    on_progress(event, peer, t_ns);
  }
  graph_.peers[peer].end_ns = session_ends_[line.session] = t_ns;
}

void GraphBuilder::on_progress(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  Line& line = lines_[peer];
  TrainingClock& clock = clocks_[line.session];
  if (event.ev == "block.finished") {
    const auto samples = count_key(event, "samples");
    if (!samples) return unusable(event);
    const double spent_ns = static_cast<double>(count_key(event, "steps").value_or(0)) *
                            static_cast<double>(count_key(event, "step_ns").value_or(0));
    clock.block_ends(t_ns, *samples, static_cast<std::int64_t>(std::min(spent_ns, 0x1p61)));
    line.served.reset();
  } else if (event.ev == "epochs.drawn") {
    if (count_key(event, "k").value_or(1) > 0) clock.block_begins(t_ns);
    line.served.reset();
  } else if (event.ev == "partner.chosen") {
    const auto to = text_key(event, "to");
    line.chosen = to ? peer_index(*to) : kNone;
  } else if (event.ev == "peer.joined") {
    on_joined(event, peer, t_ns);
  } else if (event.ev == "state.adopted") {
    on_adopted(event, peer, t_ns);
  } else if (event.ev == "peer.left" && !event.fields.contains("who")) {
    graph_.peers[peer].left = text_key(event, "reason").value_or("");
  }
}

// A simulated peer starts again within the one log of its pool.
void GraphBuilder::on_joined(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  if (event.fields.contains("who")) return;  // about somebody else
  Line& line = lines_[peer];
  const auto incarnation = static_cast<std::int64_t>(count_key(event, "inc").value_or(0));
  const bool is_later = incarnation > line.incarnation;
  line.incarnation = std::max(line.incarnation, incarnation);
  if (is_later && text_key(event, "reason") != "resumed")
    begin_session(peer, t_ns, MergeGraph::NodeKind::start, 0, 0, kNone);
}

void GraphBuilder::on_resumed(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  Line& line = lines_[peer];
  const auto mseq = count_key(event, "mseq");
  const auto samples = count_key(event, "samples");
  if (!mseq || !samples) unusable(event);
  while (!line.path.empty() && line.path.back().first > mseq.value_or(0)) line.path.pop_back();
  const bool is_known = !line.path.empty() && line.path.back().first == mseq.value_or(0);
  if (!is_known) note("resumptions from a state that is in no log", where(event));
  begin_session(peer, t_ns, MergeGraph::NodeKind::resumption, mseq.value_or(0), samples.value_or(0),
                is_known ? line.path.back().second : kNone);
  line.incarnation =
      std::max(line.incarnation, static_cast<std::int64_t>(count_key(event, "inc").value_or(0)));
  clocks_[line.session].block_begins(t_ns);
}

void GraphBuilder::on_adopted(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  const auto from = text_key(event, "from");
  const auto seq = count_key(event, "seq");
  if (!from || !seq) return unusable(event);
  const Index donor = peer_index(*from);
  Line& line = lines_[peer];
  const Index node = add_node(peer, MergeGraph::NodeKind::adoption, t_ns, line.mseq);
  add_edge(peer, node, {{donor, peer, *seq}, 1.0, 0.0, true});  // takes the place of the own
  TrainingClock& clock = clocks_[line.session];
  clock.jump(t_ns, count_key(event, "samples").value_or(clock.samples_at(t_ns)));
  line.held.clear();
  line.served.reset();
}

void GraphBuilder::on_sent(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  const auto to = text_key(event, "to");
  const auto seq = count_key(event, "seq");
  ++graph_.peers[peer].sent;
  if (!to || !seq) return unusable(event);
  Send send;
  send.key = {peer, peer_index(*to), *seq};
  Line& line = lines_[peer];
  send.now = {line.node, t_ns};
  if (line.served && line.served->key.from == send.key.to && line.chosen != send.key.to) {
    send.perhaps_answers = line.served->key;
    send.before = line.served->before;
    line.served.reset();
  }
  send.bytes = count_key(event, "bytes").value_or(0);
  if (const auto codec = text_key(event, "codec")) {
    const auto [found, is_new] =
        codec_ids_.emplace(*codec, static_cast<Index>(graph_.codecs.size()));
    if (is_new) graph_.codecs.push_back(*codec);
    send.codec = found->second;
  }
  const auto index = static_cast<Index>(sends_.size());
  const auto [last, is_first] = line.last_sent.emplace(send.key.to, index);
  if (!is_first) send.earlier = std::exchange(last->second, index);
  sends_.push_back(std::move(send));
}

void GraphBuilder::on_decided(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  Line& line = lines_[peer];
  line.served.reset();
  line.judged.reset();
  const auto from = text_key(event, "from");
  const auto seq = count_key(event, "seq");
  const auto verdict = text_key(event, "verdict");
  if (!from || !seq || !verdict) return unusable(event);
  if (verdict == "refuse") {
    ++graph_.peers[peer].refused;
    return;
  }
  const auto alpha = number_key(event, "alpha");
  if (!alpha) return unusable(event);
  const Judged judged{{peer_index(*from), peer, *seq},
                      *alpha,
                      std::max(0.0, number_key(event, "age_samples").value_or(0.0)),
                      verdict == "hold"};
  if (judged.held) {  // a newer model of a sender takes the place of its older one
    std::erase_if(line.held, [&](const Judged& j) { return j.key.from == judged.key.from; });
    line.held.push_back(judged);
  }
  line.judged = judged;
  line.served = Served{judged.key, {line.node, t_ns}};
}

void GraphBuilder::on_applied(const LoggedEvent& event, Index peer, std::int64_t t_ns) {
  Line& line = lines_[peer];
  const auto from = text_key(event, "from");
  const auto seq = count_key(event, "seq");
  const auto mseq = count_key(event, "mseq");
  if (!from || !seq || !mseq) unusable(event);
  const Index node =
      add_node(peer, MergeGraph::NodeKind::merge, t_ns, mseq.value_or(line.mseq + 1));
  const auto judged = std::exchange(line.judged, std::nullopt);
  if (!from || !seq) return;
  const Key key{peer_index(*from), peer, *seq};
  if (!judged || judged->key != key) {
    note("merges without their decision, which would say alpha", where(event));
    return add_edge(peer, node, {key, 0.0, 0.0, false});
  }
  if (!judged->held) return add_edge(peer, node, *judged);
  // The centre of all held models and the own one, as if it were their mean.
  const std::vector<Judged> held = std::exchange(line.held, {});
  for (Judged each : held) {
    each.alpha /= static_cast<double>(held.size() + 1);
    add_edge(peer, node, each);
  }
}

void GraphBuilder::add_edge(Index peer, Index node, const Judged& from) {
  MergeGraph::Edge& edge = graph_.edges.emplace_back();
  edge.from = from.key.from;
  edge.seq = from.key.seq;
  edge.node = node;
  edge.alpha = from.alpha;
  edge.age_samples = from.age_samples;
  ++graph_.nodes[node].edge_count;
  const auto& last_sent = lines_[peer].last_sent;
  const auto last = last_sent.find(edge.from);
  const bool has_base = !from.held && last != last_sent.end();
  arrivals_.push_back({from.key, has_base ? last->second : kNone});
}

}  // namespace hearsay::runtime
