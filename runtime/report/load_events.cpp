// SPDX-License-Identifier: Apache-2.0
// The event log's part of RunFacts: events of all peers become blocks, merges, transfers,
// incidents and lives on one time axis.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/report/event_fields.hpp"
#include "runtime/report/load.hpp"
#include "runtime/report/load_views.hpp"

namespace hearsay::runtime::report {
namespace {

constexpr double kPerSecond = 1e-9;
using ModelKey = std::tuple<PeerIndex, PeerIndex, std::uint64_t>;  // from, to, seq

class EventReader {
 public:
  explicit EventReader(RunFacts& facts) : facts_(facts), views_(facts) {
    for (PeerIndex i = 0; i < facts.peers.size(); ++i) indices_.emplace(facts.peers[i].name, i);
  }

  void read(const OneLog& log);
  void finish();

 private:
  PeerIndex index(const std::string& name) const {
    const auto found = indices_.find(name);
    return found == indices_.end() ? kNobody : found->second;
  }
  static std::string line_of(const LoggedEvent& event);

  void read_event(const LoggedEvent& event, PeerIndex peer, double time_s);
  void block(const LoggedEvent& event, PeerIndex peer, double time_s);
  void evaluation(const LoggedEvent& event, PeerIndex peer, double time_s);
  void transfer(const LoggedEvent& event, PeerIndex peer, double time_s);
  void merge(const LoggedEvent& event, PeerIndex peer, double time_s);
  void incident(const LoggedEvent& event, PeerIndex peer, double time_s);
  void interpolate_samples();

  RunFacts& facts_;
  ViewReader views_;
  std::map<std::string, PeerIndex> indices_;
  std::map<PeerIndex, std::size_t> life_;  // the current one of each peer in the log being read
  std::vector<std::pair<ModelKey, double>> received_;  // bytes
  std::vector<ModelKey> applied_;
};

std::string EventReader::line_of(const LoggedEvent& event) {
  Json line = {{"ev", event.ev}, {"t_ns", event.t_ns}, {"peer", event.peer}, {"n", event.n}};
  for (const auto& [key, value] : event.fields.items()) line[key] = value;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void EventReader::read(const OneLog& log) {
  life_.clear();
  for (const LoggedEvent& event : log.events) {
    const double time_s = static_cast<double>(event.t_ns + log.offset_ns) * kPerSecond;
    ++facts_.events;
    facts_.end_s = std::max(facts_.end_s, time_s);
    const PeerIndex peer = index(event.peer);
    if (peer == kNobody) continue;  // the pool as a whole
    const bool is_start = event.ev == "peer.joined" && text_at(event.fields, "who").empty();
    if (is_start || !life_.contains(peer)) {
      life_[peer] = facts_.lives.size();
      facts_.lives.push_back({peer, time_s, time_s, false, false, ""});
    }
    Life& life = facts_.lives[life_[peer]];
    life.end_s = std::max(life.end_s, time_s);
    life.left = event.ev == "peer.left" && text_at(event.fields, "who").empty();
    read_event(event, peer, time_s);
  }
  std::map<PeerIndex, const LoggedEvent*> last;
  for (const LoggedEvent& event : log.events) last[index(event.peer)] = &event;
  for (const auto& [peer, life] : life_) {
    facts_.lives[life].is_torn = log.is_torn && !log.owner.empty();
    facts_.lives[life].last_line = line_of(*last[peer]);
  }
}

void EventReader::read_event(const LoggedEvent& event, PeerIndex peer, double time_s) {
  if (event.ev == "block.finished") return block(event, peer, time_s);
  if (event.ev == "eval.finished") return evaluation(event, peer, time_s);
  if (event.ev == "delta.sent") return transfer(event, peer, time_s);
  if (event.ev == "merge.decided") return merge(event, peer, time_s);
  if (event.ev == "delta.received") {
    const PeerIndex from = index(text_at(event.fields, "from"));
    if (from != kNobody)
      received_.emplace_back(ModelKey{from, peer, whole_at(event.fields, "seq")},
                             number_at(event.fields, "bytes").value_or(0.0));
    return;
  }
  if (event.ev == "merge.applied") {
    const PeerIndex from = index(text_at(event.fields, "from"));
    if (from != kNobody) applied_.emplace_back(from, peer, whole_at(event.fields, "seq"));
    return;
  }
  if (!views_.read(event, peer, time_s)) incident(event, peer, time_s);
}

void EventReader::block(const LoggedEvent& event, PeerIndex peer, double time_s) {
  Block b;
  b.peer = peer;
  b.end_s = time_s;
  b.samples = whole_at(event.fields, "samples");
  b.steps = whole_at(event.fields, "steps");
  b.step_s = number_at(event.fields, "step_ns").value_or(0.0) * kPerSecond;
  const double began_s = time_s - b.step_s * static_cast<double>(b.steps);
  b.begin_s = std::clamp(began_s, std::min(0.0, time_s), time_s);
  b.loss = number_at(event.fields, "loss");
  b.accuracy = number_at(event.fields, "acc");
  b.line = line_of(event);
  facts_.blocks.push_back(std::move(b));
}

void EventReader::evaluation(const LoggedEvent& event, PeerIndex peer, double time_s) {
  if (!text_at(event.fields, "split").starts_with("test")) return;
  Evaluation e;
  e.peer = peer;
  e.time_s = time_s;
  e.loss = number_at(event.fields, "loss");
  e.accuracy = number_at(event.fields, "acc");
  facts_.evaluations.push_back(e);
}

void EventReader::transfer(const LoggedEvent& event, PeerIndex peer, double time_s) {
  Transfer t;
  t.from = peer;
  t.to = index(text_at(event.fields, "to"));
  if (t.to == kNobody) return;
  t.time_s = time_s;
  t.seq = whole_at(event.fields, "seq");
  t.codec = text_at(event.fields, "codec");
  t.payload_bytes = number_at(event.fields, "bytes").value_or(0.0);
  t.wire_bytes = std::max(t.payload_bytes, number_at(event.fields, "wire_bytes").value_or(0.0));
  facts_.transfers.push_back(std::move(t));
}

void EventReader::merge(const LoggedEvent& event, PeerIndex peer, double time_s) {
  Merge m;
  m.peer = peer;
  m.from = index(text_at(event.fields, "from"));
  if (m.from == kNobody) return;
  m.time_s = time_s;
  m.seq = whole_at(event.fields, "seq");
  m.verdict = text_at(event.fields, "verdict");
  m.reason = text_at(event.fields, "reason");
  m.alpha = number_at(event.fields, "alpha").value_or(0.0);
  m.age_samples = number_at(event.fields, "age_samples");
  m.cosine = number_at(event.fields, "cos");
  m.relative_norm = number_at(event.fields, "rel_norm");
  m.loss_before = number_at(event.fields, "eval_before");
  m.loss_after = number_at(event.fields, "eval_after");
  m.line = line_of(event);
  facts_.merges.push_back(std::move(m));
}

void EventReader::incident(const LoggedEvent& event, PeerIndex peer, double time_s) {
  Incident i;
  i.time_s = time_s;
  i.observer = peer;
  i.who = index(text_at(event.fields, "who"));
  const std::string reason = text_at(event.fields, "reason");
  if (event.ev == "peer.lost") {
    i.kind = "lost";
    i.text = reason;
  } else if (event.ev == "fault.seen") {
    i.kind = text_at(event.fields, "kind");
    i.text = text_at(event.fields, "detail") + "; " + text_at(event.fields, "action");
  } else if (event.ev == "peer.joined" && i.who != kNobody) {
    i.kind = "back";
    i.text = reason;
  } else if (event.ev == "state.adopted") {
    i.kind = "adopted";
    i.text = "took over the weights of " + text_at(event.fields, "from");
  } else if (event.ev == "run.resumed") {
    i.kind = "resumed";
    i.text = "went on from a checkpoint";
  } else if (event.ev == "merge.half") {
    i.kind = "half merge";
    i.text = "an answer did not come (" + reason + ")";
  } else {
    return;
  }
  if (i.who == kNobody) i.who = peer;
  i.line = line_of(event);
  facts_.incidents.push_back(std::move(i));
}

// Samples of a peer at an instant: its blocks log them, other events do not.
double samples_at(double time_s, const std::vector<const Block*>& blocks) {
  const auto after = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const Block* block) { return block->end_s >= time_s; });
  const Block* before = after == blocks.begin() ? nullptr : *std::prev(after);
  const double from_s = before != nullptr ? before->end_s : 0.0;
  const double from = before != nullptr ? static_cast<double>(before->samples) : 0.0;
  if (after == blocks.end()) return from;  // a block that did not end
  // Between blocks a peer does not train: only the block's own time counts.
  const double begin_s = std::max(from_s, (*after)->begin_s);
  const double span_s = (*after)->end_s - begin_s;
  const double share = span_s > 0.0 ? std::clamp((time_s - begin_s) / span_s, 0.0, 1.0) : 1.0;
  return from + share * (static_cast<double>((*after)->samples) - from);
}

void EventReader::interpolate_samples() {
  std::map<PeerIndex, std::vector<const Block*>> by_peer;
  for (const Block& block : facts_.blocks) by_peer[block.peer].push_back(&block);
  for (Evaluation& e : facts_.evaluations) e.samples = samples_at(e.time_s, by_peer[e.peer]);
  for (View& view : facts_.views) view.samples = samples_at(view.time_s, by_peer[view.peer]);
}

void EventReader::finish() {
  const auto by_time = [](const auto& a, const auto& b) { return a.time_s < b.time_s; };
  std::stable_sort(facts_.merges.begin(), facts_.merges.end(), by_time);
  std::stable_sort(facts_.transfers.begin(), facts_.transfers.end(), by_time);
  std::stable_sort(facts_.views.begin(), facts_.views.end(), by_time);
  std::stable_sort(facts_.lessons.begin(), facts_.lessons.end(), by_time);
  std::stable_sort(facts_.deliveries.begin(), facts_.deliveries.end(), by_time);
  std::stable_sort(facts_.incidents.begin(), facts_.incidents.end(), by_time);
  std::stable_sort(facts_.evaluations.begin(), facts_.evaluations.end(), by_time);
  std::stable_sort(facts_.blocks.begin(), facts_.blocks.end(),
                   [](const Block& a, const Block& b) { return a.end_s < b.end_s; });
  std::stable_sort(facts_.lives.begin(), facts_.lives.end(), [](const Life& a, const Life& b) {
    return std::tie(a.peer, a.begin_s) < std::tie(b.peer, b.begin_s);
  });
  std::sort(received_.begin(), received_.end());
  std::sort(applied_.begin(), applied_.end());
  const auto find_received = [&](const ModelKey& key) {
    const auto found = std::lower_bound(received_.begin(), received_.end(), std::pair(key, -1.0));
    return found != received_.end() && found->first == key ? &*found : nullptr;
  };
  for (Transfer& t : facts_.transfers) t.received = find_received({t.from, t.to, t.seq}) != nullptr;
  for (Merge& m : facts_.merges) {
    const ModelKey key{m.from, m.peer, m.seq};
    m.applied = std::binary_search(applied_.begin(), applied_.end(), key);
    if (const auto* received = find_received(key)) m.bytes = received->second;
  }
  interpolate_samples();
}

}  // namespace

void add_events(std::vector<OneLog> logs, RunFacts& facts) {
  EventReader reader(facts);
  for (const OneLog& log : logs) reader.read(log);
  reader.finish();
}

}  // namespace hearsay::runtime::report
