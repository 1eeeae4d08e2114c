// SPDX-License-Identifier: Apache-2.0
// What the parts of one gossiping peer share: its settings, its clocks, its view of the others.
// Owned by GossipPeer; parts borrow it for the length of a turn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gossip/bandwidth.hpp"
#include "gossip/blocks.hpp"
#include "gossip/codec/codec.hpp"
#include "gossip/communities/steering.hpp"
#include "gossip/convergence.hpp"
#include "gossip/crowd.hpp"
#include "gossip/displacements.hpp"
#include "gossip/examples/transfers.hpp"
#include "gossip/outer/outer_optimizer.hpp"
#include "gossip/peer_table.hpp"
#include "gossip/protocol.hpp"
#include "gossip/sequence_window.hpp"
#include "gossip/strikes.hpp"
#include "gossip/topology/topology.hpp"
#include "gossip/tuning/tuner.hpp"
#include "gossip/votes.hpp"
#include "merge/policy.hpp"

namespace hearsay::gossip {

enum class ExchangeKind { pairwise, push, push_sum, choco };

// --trade: now and then two peers trade models instead of merging them.
struct TradePlan {
  double chance = 0.1;    // at a merge, of a model that is new here and at least as unsure as ours
  double horizon = 16.0;  // own merges after which a model counts as nearly new again
};

struct GossipSettings {
  PeerId self;
  std::uint32_t peers = 1;
  std::uint64_t seed = 0;
  std::uint32_t batch = 32;
  BlockPlan blocks;
  ExchangeKind exchange = ExchangeKind::pairwise;
  bool wait = false;         // rendezvous
  double choco_gamma = 0.0;  // choco: how far a peer moves towards its neighbours' copies
  bool until_converged = false;
  std::uint32_t end_game_rounds = 0;
  std::uint32_t incarnation = 0;  // rises with every start of the same peer
  bool late = false;              // others train already: begins with the weights of one of them
  std::vector<bool> at_start;     // [peer] who is there when the pool begins; empty = all
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const merge::Policy> policy;
  std::shared_ptr<const CodecPlan> codec;  // of pairwise, push and choco; null: weights as they are
  std::shared_ptr<const CommunityPlan> communities;  // null: all neighbours are alike
  std::optional<OuterSettings> outer;  // of pairwise and push; none: merges move the weights
  std::optional<TradePlan> trade;      // none: models stay where they are
  std::optional<TunePlan> tune;        // none: settings stay as they are
  std::shared_ptr<const TransferPlan> transfers;  // null: examples stay where they are
  std::optional<double> bandwidth_bytes_per_s;    // none: sends as much as there is to send
};

// One call into the protocol: the instant, the model, and where actions go.
struct Turn {
  Time now;
  LocalModel& model;
  Actions& out;

  void send(Frame frame) { out.push_back(action::Send{std::move(frame)}); }
  void record(Event event) { out.push_back(action::Record{std::move(event)}); }
  void timer(Time at, std::uint64_t id) { out.push_back(action::SetTimer{at, id, {}, {}}); }
  void timer_when_quiet(Time patience, PeerId with, std::uint64_t id) {
    out.push_back(action::SetTimer{now + patience, id, with, patience});
  }
};

// Sample counts of both sides when two peers last exchanged weights, and what has come.
struct Acquaintance {
  std::uint64_t own_samples = 0, their_samples = 0;
  SequenceWindow came;  // weights from there
  void state(Archive& a) { a("own", own_samples)("their", their_samples)("came", came); }
};

struct PeerState {
  explicit PeerState(const GossipSettings& s)
      : settings(s),
        table(s.self, s.peers, s.incarnation, s.at_start),
        votes(s.self, s.peers),
        next_seq(first_seq(s.incarnation)),
        backoff(kernels::Rng::stream(s.seed, "backoff", s.self.value)),
        codec(s.codec ? s.codec->make(s.self) : nullptr),
        trade_rng(kernels::Rng::stream(s.seed, "trade", s.self.value)) {
    if (s.communities)
      steering = std::make_unique<Steering>(s.communities, s.self, s.peers, s.incarnation);
    if (s.transfers) transfers = std::make_unique<Transfers>(s.transfers);
    if (s.policy && s.policy->guards().crowd)
      partners = possible_partners(*s.topology, s.self, s.peers);
    if (s.outer) outer.emplace(*s.outer);
    if (s.tune) tuner.emplace(*s.tune, s.seed, s.self);
    if (s.bandwidth_bytes_per_s) budget.emplace(*s.bandwidth_bytes_per_s);
  }

  // Every start of a peer numbers its weights anew, so that no two in a run are called the same.
  static std::uint64_t first_seq(std::uint32_t incarnation) {
    return std::uint64_t{incarnation} << 32;
  }

  GossipSettings settings;
  Counters counters;
  PeerTable table;
  VoteTable votes;
  ConvergenceMonitor monitor;
  double last_update_norm = 0.0;                 // of the newest finished block, learning-rate free
  Time step_time{0};                             // of a mini-batch, smoothed
  std::uint64_t next_seq = 0;                    // of the weights this peer sends
  kernels::Rng backoff;                          // jitter
  std::unique_ptr<Codec> codec;                  // null: weights as they are
  merge::SnapshotRef good_weights;               // only of a codec that goes by the loss
  std::unique_ptr<Steering> steering;            // null: partners are chosen evenly
  std::optional<OuterOptimizer> outer;           // slow weights beside those that are trained
  std::unique_ptr<Transfers> transfers;          // null: examples stay where they are
  std::optional<Tuner> tuner;                    // settings that are learned
  std::optional<Bandwidth> budget;               // none: no limit
  kernels::Rng trade_rng;                        // draws a number for every request
  std::map<PeerId, std::uint64_t> traded_at;     // merge clock when the model of a peer came here
  std::map<PeerId, Acquaintance> acquaintances;  // only peers met
  Strikes strikes;
  Displacements displacements;
  Crowd crowd;
  std::vector<PeerId> partners;  // whose models a crowd can hold; only with a crowd rule
  bool poisoned = false;         // the own weights were found not to be finite

  void state(Archive& a) {
    a("counters", counters)("table", table)("votes", votes)("monitor", monitor);
    a("last_update_norm", last_update_norm)("next_seq", next_seq);
    a("step_time", step_time)("backoff", backoff);
    a("acquaintances", acquaintances)("until_converged", settings.until_converged);
    a("strikes", strikes)("displacements", displacements)("crowd", crowd)("poisoned", poisoned);
    if (codec) a("codec", *codec);
    if (codec && codec->minds_loss()) a("good_weights", good_weights);
    if (steering) a("steering", *steering);
    if (outer) a("outer", *outer);
    if (transfers) a("transfers", *transfers);
    if (tuner) a("tuner", *tuner);
    if (budget) a("budget", *budget);
    if (settings.trade) a("trade_rng", trade_rng)("traded_at", traded_at);
  }

  // Between the merges that this peer starts, as things go; 0 before its first mini-batch.
  Time merge_interval() const {
    const double steps =
        settings.blocks.lambda * static_cast<double>(settings.blocks.steps_per_epoch);
    return Time(static_cast<Time::rep>(steps * static_cast<double>(step_time.count())));
  }

  // Merges that were due so far: what a cool-down is counted in.
  std::uint64_t merge_clock() const { return counters.merges_started + counters.merges_skipped; }
  bool ignores(PeerId who) const { return strikes.ignores(who, merge_clock()); }

  double progress() const {
    const double steps =
        static_cast<double>(settings.blocks.epochs * settings.blocks.steps_per_epoch);
    return steps > 0.0 ? static_cast<double>(counters.steps) / steps : 1.0;
  }
};

}  // namespace hearsay::gossip
