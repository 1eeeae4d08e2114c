// SPDX-License-Identifier: Apache-2.0
// What a report knows of one run: plain values out of run.json, result.json and the event logs, on
// one time axis. Nothing is invented: what was not logged is absent, what could not be read is in
// `missing`. Peers are numbers here, indices into `peers`. Lane: any. Cost: a few hundred bytes
// an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearsay::runtime::report {

using PeerIndex = std::uint32_t;
inline constexpr PeerIndex kNobody = ~PeerIndex{0};

struct Block {  // of local training
  PeerIndex peer = 0;
  double begin_s = 0.0, end_s = 0.0;
  std::uint64_t samples = 0;  // of the peer so far
  std::uint64_t steps = 0;
  double step_s = 0.0;
  std::optional<double> loss, accuracy;
  std::string line;  // as logged
};

struct Evaluation {
  PeerIndex peer = 0;
  double time_s = 0.0;
  double samples = 0.0;  // of the peer, interpolated between its blocks
  std::optional<double> loss, accuracy;
};

struct Merge {  // one decision about a model that came in
  PeerIndex peer = 0, from = 0;
  double time_s = 0.0;
  std::uint64_t seq = 0;
  std::string verdict, reason;
  double alpha = 0.0;
  std::optional<double> age_samples, cosine, relative_norm;
  std::optional<double> loss_before, loss_after;  // on a probe set
  double bytes = 0.0;                             // of the frame, when somebody logged it
  bool applied = false;
  std::string line;  // of the decision, as logged

  bool refused() const { return verdict == "refuse"; }
};

struct Transfer {  // one model sent
  PeerIndex from = 0, to = 0;
  double time_s = 0.0;
  std::uint64_t seq = 0;
  std::string codec;
  double payload_bytes = 0.0, wire_bytes = 0.0;
  bool received = false;
};

// What one peer found out about who is alike, in one round of its own.
struct View {
  PeerIndex peer = 0;
  double time_s = 0.0;
  double samples = 0.0;          // of the peer, interpolated between its blocks
  std::size_t partition = 0;     // of RunFacts::partitions
  std::vector<float> distances;  // [peer] to it; NaN: not known; empty: not logged
  std::optional<double> silhouette,
      agreement;  // agreement: adjusted Rand index with the round before
};

// Examples that came to a peer and stayed.
struct Delivery {
  PeerIndex from = 0, to = 0;
  double time_s = 0.0;
  std::size_t taken = 0;
  std::vector<std::uint32_t> ids;  // empty: not logged
};

struct Lesson {  // an example that came, in the eyes of the model that it came to
  PeerIndex peer = 0;
  std::uint32_t id = 0;
  double before = 0.0, after = 0.0;  // probability of its label: on arrival, and an epoch later
  double time_s = 0.0;
};

struct Thumbnail {
  std::uint32_t label = 0;
  std::string png;  // grey
};

struct Incident {  // a fault, a loss, a peer that comes back, as somebody saw it
  double time_s = 0.0;
  PeerIndex observer = 0, who = 0;
  std::string kind;  // "lost", "back", "adopted", or that of the fault
  std::string text;
  std::string line;  // as logged
};

// One process of a peer, from its first event to its last.
struct Life {
  PeerIndex peer = 0;
  double begin_s = 0.0, end_s = 0.0;
  bool left = false;      // said goodbye
  bool is_torn = false;   // its log ends in the middle of a line
  std::string last_line;  // as logged
};

struct Peer {
  std::string name;
  std::optional<bool> alive;  // at the end, by result.json
  std::string reason;         // how it ended
  std::optional<double> samples, shard, accuracy, loss, payload_bytes, wire_bytes;
};

// Whose data is in a final model (graph/ancestry.hpp).
struct Ancestors {
  std::vector<double> shares;  // of the shard of each peer
  double unknown = 0.0;        // of models that no log tells of
  double effective_shards = 0.0;
};

struct ConfigEntry {
  std::string key, value, origin;
};

// Numbers of result.json; absent before the end of a run.
struct Result {
  std::string verdict;
  std::optional<double> wall_s, virtual_s, peers, peers_lost, samples, merges, merges_applied,
      merges_refused, payload_bytes, wire_bytes, example_bytes, accuracy_mean, accuracy_min,
      accuracy_max, accuracy_averaged, loss_mean, consensus_distance;
  std::string digest;
};

struct RunFacts {
  std::string path, name, command, version, started, launcher, data_digest;
  std::string protocol;  // "" when run.json is not there
  std::vector<ConfigEntry> config;
  std::optional<double> parameters;
  bool is_virtual = false;  // clock
  std::optional<std::uint64_t> seed;
  std::optional<Result> result;
  std::vector<Peer> peers;  // by name
  std::vector<Block> blocks;
  std::vector<Evaluation> evaluations;
  std::vector<Merge> merges;        // by time
  std::vector<Transfer> transfers;  // by time
  std::vector<View> views;          // by time
  // [peer] its community, numbered by first appearance; each once.
  std::vector<std::vector<std::uint32_t>> partitions;
  std::vector<Delivery> deliveries;  // by time
  std::vector<Lesson> lessons;       // by time
  // By id, where the page is to have them (thumbnails.hpp).
  std::map<std::uint32_t, Thumbnail> thumbnails;
  std::vector<Incident> incidents;   // by time
  std::vector<Life> lives;           // by peer, then time
  std::vector<Ancestors> ancestors;  // of each peer's model; empty when there is no merge graph
  std::optional<Ancestors> pool_ancestors;  // of the average model
  double end_s = 0.0;                       // of the last event
  std::size_t events = 0;
  std::vector<std::string> missing;  // sentences: what the report had to do without, and why

  const std::string& peer_name(PeerIndex peer) const { return peers[peer].name; }
  std::string config_value(const std::string& key) const;
  // Not alive at the end, as far as the run says.
  bool is_dead(PeerIndex peer) const;
  // Seconds of the run clock at which a peer gave its last sign of life.
  double last_sign_s(PeerIndex peer) const;
};

}  // namespace hearsay::runtime::report
