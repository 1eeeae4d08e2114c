// SPDX-License-Identifier: Apache-2.0
// How a gossiping peer begins when others train already, and how it goes on from a checkpoint.
// A late joiner asks one peer after the other for its weights until a whole model has come; only
// then does it train, at the point of the schedule where the donor is. A donor that dies, is busy
// or falls silent costs a question to the next one.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "gossip/protocols/gossip_peer.hpp"

namespace hearsay::gossip {
namespace {

// A trained model is this many times larger than an untrained one at most.
constexpr double kMostGrowth = 100.0;

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

void GossipPeer::record_joined(const char* reason, Turn& turn) {
  turn.record(joined_event(peer_.settings.incarnation, reason, peer_.counters.steps,
                           blocks_.budget_steps()));
}

void GossipPeer::start_late(Turn& turn) {
  phase_ = Phase::joining;
  record_joined("late", turn);
  seek_weights(turn);
}

void GossipPeer::seek_weights(Turn& turn) {
  asked_.clear();
  joining_since_ = turn.now;
  fetch_quiet_ = limits::kQuietFirst;
  ask_a_donor(turn);
}

// Weights that are not finite are offered to nobody. The peer begins again with a neighbour's, at
// its own place in the schedule; when nobody gives any, or it comes to this again and again, it has
// diverged.
void GossipPeer::restore(const std::string& detail, Turn& turn) {
  peer_.poisoned = false;
  const std::uint32_t reachable =
      peer_.settings.peers - 1 - static_cast<std::uint32_t>(peer_.table.out_of_reach());
  if (restores_ == limits::kRestores || reachable == 0) return diverged(detail, turn);
  ++restores_;
  turn.record(fault_event("own weights not finite", peer_.settings.self, detail,
                          "asks a neighbour for its weights"));
  exchange_->give_up("own weights are not finite", turn);
  if (end_exchange_) end_exchange_->give_up("own weights are not finite", turn);
  peer_.crowd = {};
  merges_due_ = 0;
  burst_.clear();
  block_ = Block{};
  restoring_ = true;
  phase_ = Phase::joining;
  while (auto frame = inbox_.take()) refuse_weights(std::move(*frame), "has no weights now", turn);
  for (const auto& [who, seq] : std::exchange(fetches_, {}))
    turn.send(control_frame(FrameKind::busy, who, seq, peer_));
  seek_weights(turn);
}

// One question at a time, to anybody who can be reached and has not failed to answer.
void GossipPeer::ask_a_donor(Turn& turn) {
  std::vector<PeerId> donors;
  const auto can_give = [&](PeerId peer) {
    return peer_.table.reachable(peer) && !peer_.ignores(peer) &&
           std::find(asked_.begin(), asked_.end(), peer) == asked_.end();
  };
  for (std::uint32_t i = 0; i < peer_.settings.peers; ++i) {
    if (PeerId(i) != peer_.settings.self && can_give(PeerId(i))) donors.push_back(PeerId(i));
  }
  fetch_.reset();
  if (donors.empty()) {
    if (restoring_) return diverged("nobody gave it weights to go on with", turn);
    asked_.clear();  // all over again at the next beat
    if (turn.now - joining_since_ >= limits::kJoinAlone) begin_alone(turn);
    return;
  }
  const PeerId donor = donors[donor_rng_.below(static_cast<std::uint32_t>(donors.size()))];
  asked_.push_back(donor);
  Frame frame = control_frame(FrameKind::fetch, donor, 0, peer_);
  frame.seq = peer_.next_seq++;
  fetch_ = Fetch{donor, frame.seq};
  turn.timer_when_quiet(fetch_quiet_, donor, frame.seq);
  turn.send(std::move(frame));
}

// Each time the next one may be silent for longer: perhaps everybody's mini-batches take long.
void GossipPeer::donor_failed(const char* why, Turn& turn) {
  fetch_quiet_ = std::min<Time>(2 * fetch_quiet_, limits::kQuietMost);
  turn.record(fault_event("donor lost", fetch_->donor, std::string(why), "asks another"));
  ask_a_donor(turn);
}

void GossipPeer::begin_alone(Turn& turn) {
  turn.record(fault_event("no donor", peer_.settings.self, "nobody who trains can be reached",
                          "begins with its own weights"));
  begin_block(turn);
}

// The weights came whole or not at all: a frame is handed on only when its last byte has been
// checked.
void GossipPeer::adopt(const Frame& frame, Turn& turn) {
  if (phase_ != Phase::joining || !fetch_ || fetch_->donor != frame.from ||
      fetch_->seq != frame.answers) {
    return;  // from a donor that had been given up
  }
  turn.record(received_event(frame));
  if (!frame.values) return donor_failed("it sent no weights", turn);
  Counters& c = peer_.counters;
  if (restoring_) {  // its own weights are worth nothing, and it keeps its own clock
    turn.model.adopt(*frame.values, c.steps);
    if (turn.model.measure(*frame.values, nullptr).bad > 0)
      return donor_failed("its weights are not finite", turn);
  } else {
    const kernels::MergeStats stats = turn.model.measure(*frame.values, nullptr);
    if (stats.bad > 0) return donor_failed("its weights are not finite", turn);
    if (stats.weights_sq > 0.0 &&
        stats.displacement_sq > kMostGrowth * kMostGrowth * stats.weights_sq)
      return donor_failed("its weights explode", turn);
    const auto budget = static_cast<double>(blocks_.budget_steps());
    c.steps = static_cast<std::uint64_t>(std::llround(frame.mass * budget));
    c.inherited_samples += frame.samples > c.samples ? frame.samples - c.samples : 0;
    c.samples = std::max(c.samples, frame.samples);
    turn.model.adopt(*frame.values, c.steps);
  }
  if (peer_.codec) peer_.codec->forget();
  peer_.good_weights = nullptr;
  if (peer_.outer) peer_.outer->begin(turn.model);
  exchange_->adopted(peer_, turn);
  restoring_ = false;
  c.samples_at_last_merge = c.samples;
  Acquaintance& met = peer_.acquaintances[frame.from];
  met.own_samples = c.samples;
  met.their_samples = frame.samples;
  fetch_.reset();
  asked_.clear();
  Event adopted("state.adopted");
  adopted.add("from", peer_name(frame.from)).add("seq", integer(frame.seq));
  turn.record(std::move(adopted.add("samples", integer(c.samples)).add("steps", integer(c.steps))));
  c.steps < blocks_.budget_steps() ? begin_block(turn) : drain("finished", turn);
}

// --- the donor's side ---

void GossipPeer::fetch_asked(const Frame& frame, Turn& turn) {
  if (phase_ == Phase::joining || fetches_.size() >= limits::kFetches)
    return turn.send(control_frame(FrameKind::busy, frame.from, frame.seq, peer_));
  fetches_.emplace_back(frame.from, frame.seq);
  if (at_boundary()) serve_fetches(turn);
}

// One snapshot for all who asked since the last boundary.
void GossipPeer::serve_fetches(Turn& turn) {
  if (fetches_.empty()) return;
  const merge::SnapshotRef mine = turn.model.snapshot();
  const Spoken whole{mine, nullptr, mine, std::nullopt};  // never in a codec
  for (const auto& [who, seq] : std::exchange(fetches_, {})) {
    Frame frame = weights_frame(FrameKind::model, who, whole, peer_);
    frame.answers = seq;
    frame.mass = std::min(1.0, peer_.progress());
    turn.record(sent_event(frame, peer_));
    turn.send(std::move(frame));
  }
}

// --- from a checkpoint ---

// Weights, clocks and streams are as they were; what was on its way is given up, and the others are
// met anew. A block goes on where it was cut.
void GossipPeer::start_again(Turn& turn) {
  exchange_->give_up("resumed", turn);
  if (end_exchange_) end_exchange_->give_up("resumed", turn);
  const GossipSettings& s = peer_.settings;
  peer_.table = PeerTable(s.self, s.peers, s.incarnation, s.at_start);
  peer_.table.excuse(turn.now);
  peer_.votes = VoteTable(s.self, s.peers);
  peer_.next_seq = std::max(peer_.next_seq, PeerState::first_seq(s.incarnation));
  stop_reason_.reset();
  finish_reason_ = "finished";
  merges_due_ = 0;
  burst_.clear();
  asked_.clear();
  fetches_.clear();
  fetch_.reset();
  if (s.late) return start_late(turn);
  if (restoring_) return restore("still so after its checkpoint", turn);
  record_joined("resumed", turn);
  phase_ = Phase::waiting;  // at a boundary
  serve_inbox(turn);
  if (peer_.counters.steps >= blocks_.budget_steps()) return drain("finished", turn);
  if (block_.steps_left == 0 || block_.steps_left > blocks_.budget_steps() - peer_.counters.steps)
    return begin_block(turn);
  phase_ = Phase::training;
  block_.started = turn.now;
  turn.out.push_back(action::Train{});
}

}  // namespace hearsay::gossip
