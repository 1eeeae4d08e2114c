// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/load.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/config/protocol_kinds.hpp"
#include "runtime/graph/ancestry.hpp"
#include "runtime/graph/merge_graph.hpp"
#include "runtime/log/json_nesting.hpp"
#include "runtime/log/run_dir.hpp"
#include "runtime/report/clocks.hpp"
#include "runtime/report/event_fields.hpp"

namespace hearsay::runtime::report {
namespace {

// Null when the file is not there or cannot be read; the latter is said.
Json read_json(const std::string& path, const char* absent, std::vector<std::string>& missing) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    missing.emplace_back(absent);
    return {};
  }
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Json json;
  if (!nests_too_deeply(text)) json = Json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  missing.push_back(path + " is damaged and was left out.");
  return {};
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string joined;
    for (const Json& each : value) joined += (joined.empty() ? "" : "; ") + value_text(each);
    return joined;
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_header(const Json& run, RunFacts& facts) {
  facts.command = text_at(run, "command");
  facts.version = text_at(run, "version") + " (" + text_at(run, "git") + ")";
  facts.started = text_at(run, "started");
  facts.launcher = text_at(run, "launcher");
  facts.data_digest = text_at(run, "data_digest");
  facts.parameters = number_at(run, "parameters");
  facts.is_virtual = text_at(run, "clock") == "virtual";
  if (const auto seed = number_at(run, "seed")) facts.seed = whole_at(run, "seed");
  const auto config = run.find("config");
  if (config == run.end() || !config->is_object()) return;
  for (const auto& [key, entry] : config->items()) {
    if (!entry.is_object()) {
      facts.config.push_back({key, value_text(entry), ""});
    } else if (entry.contains("value")) {
      facts.config.push_back({key, value_text(entry["value"]), text_at(entry, "origin")});
    }
  }
  facts.protocol = facts.config_value("protocol");
  facts.protocol = facts.protocol.substr(0, facts.protocol.find_first_of(":,+"));
}

void add_result(const Json& json, RunFacts& facts) {
  Result r;
  r.verdict = text_at(json, "verdict");
  r.digest = text_at(json, "digest");
  const std::pair<const char*, std::optional<double> Result::*> kNumbers[] = {
      {"wall_s", &Result::wall_s},
      {"virtual_s", &Result::virtual_s},
      {"peers", &Result::peers},
      {"peers_lost", &Result::peers_lost},
      {"samples", &Result::samples},
      {"merges", &Result::merges},
      {"merges_applied", &Result::merges_applied},
      {"merges_refused", &Result::merges_refused},
      {"payload_bytes", &Result::payload_bytes},
      {"wire_bytes", &Result::wire_bytes},
      {"example_bytes", &Result::example_bytes},
      {"test_acc_mean", &Result::accuracy_mean},
      {"test_acc_min", &Result::accuracy_min},
      {"test_acc_max", &Result::accuracy_max},
      {"test_acc_averaged_model", &Result::accuracy_averaged},
      {"test_loss_mean", &Result::loss_mean},
      {"consensus_distance", &Result::consensus_distance}};
  for (const auto& [key, member] : kNumbers) r.*member = number_at(json, key);
  facts.result = std::move(r);
}

Peer to_peer(const Json& json) {
  Peer peer;
  peer.name = text_at(json, "peer");
  peer.reason = text_at(json, "reason");
  const auto alive = json.find("alive");
  if (alive != json.end() && alive->is_boolean()) peer.alive = alive->get<bool>();
  peer.samples = number_at(json, "samples");
  peer.shard = number_at(json, "shard");
  peer.accuracy = number_at(json, "test_acc");
  peer.loss = number_at(json, "test_loss");
  peer.payload_bytes = number_at(json, "payload_bytes");
  peer.wire_bytes = number_at(json, "wire_bytes");
  return peer;
}

void add_peers(const Json& result, const std::vector<OneLog>& logs, RunFacts& facts) {
  const auto per_peer = result.find("per_peer");
  std::set<std::string> known;
  if (result.is_object() && per_peer != result.end() && per_peer->is_array()) {
    for (const Json& json : *per_peer) {
      Peer peer = json.is_object() ? to_peer(json) : Peer{};
      if (!peer.name.empty() && known.insert(peer.name).second)
        facts.peers.push_back(std::move(peer));
    }
  }
  const auto add = [&](const std::string& name) {
    if (name.empty() || name == "pool" || !known.insert(name).second) return;
    Peer peer;
    peer.name = name;
    facts.peers.push_back(std::move(peer));
  };
  for (const OneLog& log : logs) {
    add(log.owner);
    for (const LoggedEvent& event : log.events) {
      add(event.peer);
      if (event.ev == "codec.changed") continue;  // from and to are codecs there
      for (const std::string& name : {text_at(event.fields, "from"), text_at(event.fields, "to"),
                                      text_at(event.fields, "who")})
        add(name);
    }
  }
  // p99 before p100.
  std::sort(facts.peers.begin(), facts.peers.end(), [](const Peer& a, const Peer& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  });
}

Ancestors to_ancestors(const Ancestry::Model& model, const std::vector<PeerIndex>& places,
                       std::size_t peers) {
  Ancestors ancestors;
  ancestors.shares.resize(peers, 0.0);
  for (std::size_t i = 0; i < model.shares.size(); ++i) {
    if (places[i] != kNobody) ancestors.shares[places[i]] = model.shares[i];
  }
  ancestors.unknown = model.unknown;
  ancestors.effective_shards = model.effective_shards();
  return ancestors;
}

// The graph reads the logs once more, line by line.
void add_ancestors(const RunDir& run, RunFacts& facts) {
  try {
    const MergeGraph graph = read_merge_graph(run);
    const Ancestry ancestry = find_ancestry(
        graph, is_synchronous(facts.protocol) ? Averaging::of_every_step : Averaging::by_merges);
    std::vector<PeerIndex> places;  // of the graph's peers in ours
    for (const MergeGraph::Peer& peer : graph.peers) {
      const auto found = std::find_if(facts.peers.begin(), facts.peers.end(),
                                      [&](const Peer& own) { return own.name == peer.name; });
      places.push_back(found == facts.peers.end()
                           ? kNobody
                           : static_cast<PeerIndex>(found - facts.peers.begin()));
    }
    facts.ancestors.resize(facts.peers.size());
    for (std::size_t i = 0; i < ancestry.models.size(); ++i) {
      if (places[i] != kNobody)
        facts.ancestors[places[i]] = to_ancestors(ancestry.models[i], places, facts.peers.size());
    }
    facts.pool_ancestors = to_ancestors(ancestry.pool, places, facts.peers.size());
  } catch (const kernels::Fault& fault) {
    facts.ancestors.clear();
    facts.missing.push_back("There is no ancestry of the final models: " +
                            std::string(fault.what()));
  }
}

}  // namespace

std::string RunFacts::config_value(const std::string& key) const {
  for (const ConfigEntry& entry : config) {
    if (entry.key == key) return entry.value;
  }
  return {};
}

bool RunFacts::is_dead(PeerIndex peer) const {
  if (peers[peer].alive) return !*peers[peer].alive;
  // Without a result: others have lost it after its last word, or the run is over without it.
  const double last_s = last_sign_s(peer);
  for (auto life = lives.rbegin(); life != lives.rend(); ++life) {
    if (life->peer == peer && life->left) return false;
  }
  return std::any_of(incidents.begin(), incidents.end(), [&](const Incident& incident) {
    return incident.kind == "lost" && incident.who == peer && incident.time_s >= last_s;
  });
}

double RunFacts::last_sign_s(PeerIndex peer) const {
  double last_s = 0.0;
  for (const Life& life : lives) {
    if (life.peer == peer) last_s = std::max(last_s, life.end_s);
  }
  return last_s;
}

RunFacts load_run(const std::string& path) {
  const RunDir run = RunDir::open(path);
  RunFacts facts;
  facts.path = run.path();
  LogSet set = read_log_set(run);
  facts.missing = std::move(set.missing);
  const Json header = read_json(
      run.run_json(), "There is no run.json: configuration and seed are unknown.", facts.missing);
  const Json result = read_json(run.result_json(),
                                "There is no result.json: the run has not ended, or was cut off. "
                                "The page shows what was logged so far.",
                                facts.missing);
  facts.name = text_at(header, "run");
  if (facts.name.empty()) facts.name = run.name();
  if (header.is_object()) add_header(header, facts);
  if (result.is_object()) add_result(result, facts);
  if (header.is_null()) {
    for (const OneLog& log : set.logs)
      facts.is_virtual = facts.is_virtual || text_at(log.header, "clock") == "virtual";
  }
  add_peers(result, set.logs, facts);
  align_clocks(set.logs);
  add_events(std::move(set.logs), facts);
  add_ancestors(run, facts);
  return facts;
}

}  // namespace hearsay::runtime::report
