// SPDX-License-Identifier: Apache-2.0
#include "gossip/merging.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gossip/limits.hpp"
#include "gossip/loss_watch.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

merge::Evidence gather(const MergeRequest& request, PeerState& peer, Turn& turn) {
  const Frame& frame = request.frame;
  merge::Evidence evidence;
  evidence.stats = turn.model.measure(*request.heard.in, request.base);
  evidence.progress = peer.progress();
  const std::uint64_t own = peer.counters.samples;
  evidence.age_steps =
      own > frame.samples ? static_cast<double>(own - frame.samples) / peer.settings.batch : 0.0;
  const Acquaintance& met = peer.acquaintances[frame.from];
  evidence.local_samples = own - met.own_samples;
  evidence.remote_samples =
      frame.samples > met.their_samples ? frame.samples - met.their_samples : 0;
  evidence.clip_radius = peer.displacements.clip_radius(std::sqrt(evidence.stats.local_sq));
  if (peer.settings.policy->needs_likeness() && !request.fixed_alpha && peer.steering)
    evidence.alike = peer.steering->likeness(frame.from);
  if (peer.settings.policy->needs_confidence() && !request.fixed_alpha && evidence.stats.bad == 0) {
    evidence.local_confidence = turn.model.probe(nullptr).confidence;
    evidence.remote_confidence = turn.model.probe(request.heard.in.get()).confidence;
  }
  return evidence;
}

void advance_clocks(const Frame& frame, double age_samples, PeerState& peer) {
  Counters& c = peer.counters;
  ++c.merges_applied;
  c.longest_gap_samples = std::max(c.longest_gap_samples, c.samples - c.samples_at_last_merge);
  c.samples_at_last_merge = c.samples;
  c.age_samples_sum += age_samples;
  Acquaintance& met = peer.acquaintances[frame.from];
  met.own_samples = c.samples;
  met.their_samples = frame.samples;
  peer.votes.grow_older();
}

// Judges its own convergence after every merge and renews or withdraws its vote.
void observe_convergence(const merge::Evidence& evidence, PeerState& peer, Turn& turn) {
  if (!peer.settings.until_converged || peer.last_update_norm == 0.0)
    return;  // no block has ended yet
  peer.monitor.add_merge(peer.last_update_norm, evidence.relative_norm(),
                         turn.model.probe(nullptr).loss);
  peer.votes.cast(peer.monitor.converged());
}

// Whether the mean loss rises by more than kappa standard errors of the difference, which is taken
// example by example. A loss that is not a number is a rise.
bool rises(const std::vector<double>& before, const std::vector<double>& after, double kappa) {
  HS_CHECK(before.size() == after.size());
  const auto n = static_cast<double>(before.size());
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) sum += after[i] - before[i];
  const double mean = sum / n;
  for (std::size_t i = 0; i < before.size(); ++i)
    squares += (after[i] - before[i] - mean) * (after[i] - before[i] - mean);
  const double standard_error = n > 1.0 ? std::sqrt(squares / (n - 1.0) / n) : 0.0;
  return !(mean <= kappa * standard_error);
}

// Mean losses on the probe set around a merge, where a gate has measured them: without it, and with
// the last alpha that was tried.
struct ProbeLosses {
  double before = 0.0, after = 0.0;
};

double mean_of(const std::vector<double>& losses) {
  double sum = 0.0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

// Alpha, half of it, a quarter: the first that costs no loss beyond noise. Without a probe set
// there is nothing to go by, and the rule decides alone.
merge::Decision gate(merge::Decision decision, double kappa, const MergeRequest& request,
                     Turn& turn, std::optional<ProbeLosses>& measured) {
  const std::vector<double> before = turn.model.probe_losses(nullptr);
  for (int trial = 0; trial < 3 && !before.empty(); ++trial) {
    const Blend blend{decision.alpha, *request.heard.in, request.base};
    const std::vector<double> after = turn.model.probe_losses(&blend);
    measured = ProbeLosses{mean_of(before), mean_of(after)};
    if (!rises(before, after, kappa)) {
      if (trial > 0) decision = {merge::Verdict::scale, decision.alpha, "gate"};
      return decision;
    }
    decision.alpha *= 0.5;
  }
  if (before.empty()) return decision;
  return {merge::Verdict::refuse, 0.0, "gate: the loss would rise"};
}

// Whether the two trade models instead: rarely, sooner where this model has not been here for long,
// and where it has as much to learn here as the own one. Whoever is asked decides for both.
bool trades(const merge::Decision& decision, const MergeRequest& request, PeerState& peer,
            Turn& turn) {
  if (!peer.settings.trade || request.frame.kind != FrameKind::request || request.frame.end_game)
    return false;
  const double drawn = peer.trade_rng.uniform();
  const TradePlan& plan = *peer.settings.trade;
  if (decision.verdict == merge::Verdict::refuse || drawn >= plan.chance) return false;
  const auto last = peer.traded_at.find(request.frame.from);
  const double away = last == peer.traded_at.end()
                          ? std::numeric_limits<double>::infinity()
                          : static_cast<double>(peer.merge_clock() - last->second);
  const double own = turn.model.doubt(nullptr), theirs = turn.model.doubt(request.heard.in.get());
  const double gain = own > 0.0 ? std::min(1.0, theirs / own) : 1.0;
  if (drawn >= plan.chance * (1.0 - std::exp(-away / plan.horizon)) * gain) return false;
  peer.traded_at[request.frame.from] = peer.merge_clock();
  return true;
}

// Goes by the own factor of alpha, up to a half or what the rule says if that is more; what a guard
// has cut is not raised again. Then sees whether the sender's settings have made a better model.
merge::Decision tuned(merge::Decision decision, const MergeRequest& request, PeerState& peer,
                      Turn& turn) {
  Tuner& tuner = *peer.tuner;
  const bool is_cut = decision.verdict == merge::Verdict::scale;
  const double most = is_cut ? decision.alpha : std::max(decision.alpha, 0.5);
  if (const double factor = tuner.alpha_factor(); factor != 1.0) {
    decision.alpha = std::min(decision.alpha * factor, most);
    if (!is_cut) decision = {merge::Verdict::scale, decision.alpha, "tuned"};
  }
  const auto theirs =
      request.frame.kind == FrameKind::request ? Tuner::decode(request.frame.mass) : std::nullopt;
  if (!theirs) return decision;
  const Probe own = turn.model.probe(nullptr), other = turn.model.probe(request.heard.in.get());
  if (own.examples == 0 || !tuner.meet(*theirs, own.loss, other.loss)) return decision;
  turn.model.set_lr_factor(tuner.lr_factor());
  Event copied = tuner.event("settings.copied");
  copied.add("from", peer_name(request.frame.from)).add("own_loss", own.loss);
  turn.record(std::move(copied.add("their_loss", other.loss)));
  return decision;
}

merge::Decision decide(const merge::Evidence& evidence, const MergeRequest& request,
                       PeerState& peer, Turn& turn, std::optional<ProbeLosses>& measured) {
  const merge::Policy& policy = *peer.settings.policy;
  if (request.fixed_alpha) return policy.decide_fixed(evidence, *request.fixed_alpha);
  merge::Decision decision = policy.decide(evidence);
  if (peer.tuner && !request.frame.end_game && decision.verdict != merge::Verdict::refuse)
    decision = tuned(decision, request, peer, turn);
  if (trades(decision, request, peer, turn)) return {merge::Verdict::accept, 1.0, "trade"};
  if (decision.verdict == merge::Verdict::refuse) return decision;
  if (policy.guards().gate_kappa)
    decision = gate(decision, *policy.guards().gate_kappa, request, turn, measured);
  if (policy.guards().crowd && decision.verdict != merge::Verdict::refuse)
    decision.verdict = merge::Verdict::hold;
  return decision;
}

// What this model says about its sender.
void judge_sender(const merge::Decision& decision, const merge::Evidence& evidence, PeerId from,
                  PeerState& peer, Turn& turn) {
  if (!evidence.own_weights_finite()) {
    peer.poisoned = true;
    return;
  }
  const double norm = std::sqrt(evidence.stats.displacement_sq);
  if (evidence.stats.bad == 0 && std::isfinite(norm)) peer.displacements.add(from, norm);
  const bool bad = decision.reason == merge::kNotFinite || decision.reason == merge::kNormExplodes;
  if (bad) return strike(from, decision.reason, peer, turn);
  if (decision.verdict != merge::Verdict::refuse) peer.strikes.clear(from);
}

// True once there are as many models as the rule wants, or as can come at all.
bool hold(const merge::CrowdRule& rule, const MergeRequest& request, PeerState& peer) {
  peer.crowd.add(request.frame.from, request.heard.in);
  const auto others = std::count_if(peer.partners.begin(), peer.partners.end(), [&](PeerId who) {
    return peer.table.reachable(who) && !peer.ignores(who);
  });
  const auto most = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, others));
  return peer.crowd.size() >= std::min<std::size_t>(rule.models, most);
}

// Returns how many models have gone into it.
std::size_t apply(const merge::Decision& decision, const MergeRequest& request, PeerState& peer,
                  Turn& turn) {
  if (decision.verdict != merge::Verdict::hold) {
    if (peer.outer) {
      note_restart(peer.outer->merge(decision.alpha, *request.heard.in, request.base, turn.model),
                   turn);
    } else {
      turn.model.blend(decision.alpha, *request.heard.in, request.base);
    }
    return 1;
  }
  const auto models = peer.crowd.take();
  const auto center = turn.model.crowd_center(*peer.settings.policy->guards().crowd, models);
  turn.model.blend(decision.alpha, *center, nullptr);
  return models.size();
}

}  // namespace

void note_restart(const std::optional<OuterOptimizer::Restart>& restart, Turn& turn) {
  if (!restart) return;
  Event event("outer.restarted");
  event.add("momentum", restart->momentum_norm).add("delta", restart->delta_norm);
  turn.record(std::move(event));
}

void strike(PeerId from, std::string_view why, PeerState& peer, Turn& turn, Misdeed kind) {
  if (!peer.strikes.add(from, peer.merge_clock(), kind)) return;
  const bool of_weights = kind == Misdeed::weights;
  turn.record(fault_event(of_weights ? "bad weights" : "bad examples", from,
                          std::string(of_weights ? "three models" : "three lists of examples") +
                              " in a row refused, " + std::to_string(peer.strikes.total(from)) +
                              " in all; the last one: " + std::string(why),
                          "ignores it for " + std::to_string(limits::kCoolDownMerges) + " merges"));
}

void refuse(const Frame& frame, std::string_view why, PeerState& peer, Turn& turn) {
  ++peer.counters.merges_refused;
  Event decided("merge.decided");
  decided.add("from", peer_name(frame.from)).add("seq", integer(frame.seq));
  decided.add("verdict", std::string(name(merge::Verdict::refuse))).add("alpha", 0.0);
  turn.record(std::move(decided.add("reason", std::string(why))));
}

void refuse_unread(const Frame& frame, const Heard& heard, PeerState& peer, Turn& turn) {
  const std::string why = "cannot be read: " + heard.fault;
  refuse(frame, why, peer, turn);
  if (!heard.is_lost) strike(frame.from, why, peer, turn);
}

merge::Decision merge_in(const MergeRequest& asked, PeerState& peer, Turn& turn) {
  MergeRequest request = asked;
  // An outer optimiser may have said something else than its weights.
  merge::SnapshotRef said;
  if (peer.outer && request.base == nullptr) {
    said = own_words(peer, turn);
    request.base = said.get();
  }
  const Frame& frame = request.frame;
  HS_CHECK(request.heard.in != nullptr);
  const merge::Evidence evidence = gather(request, peer, turn);
  std::optional<ProbeLosses> measured;
  const merge::Decision decision = decide(evidence, request, peer, turn, measured);
  const double age_samples = evidence.age_steps * peer.settings.batch;
  Event decided("merge.decided");
  decided.add("from", peer_name(frame.from)).add("seq", integer(frame.seq));
  decided.add("verdict", std::string(name(decision.verdict))).add("alpha", decision.alpha);
  decided.add("age_samples", age_samples)
      .add("cos", evidence.cosine())
      .add("rel_norm", evidence.relative_norm());
  if (!decision.reason.empty()) decided.add("reason", std::string(decision.reason));
  if (request.heard.density) decided.add("density", *request.heard.density);
  if (measured) decided.add("eval_before", measured->before).add("eval_after", measured->after);
  turn.record(std::move(decided));
  if (decision.verdict == merge::Verdict::refuse) {
    ++peer.counters.merges_refused;
    judge_sender(decision, evidence, frame.from, peer, turn);
    return decision;
  }
  judge_sender(decision, evidence, frame.from, peer, turn);
  if (decision.verdict == merge::Verdict::hold &&
      !hold(*peer.settings.policy->guards().crowd, request, peer))
    return decision;
  turn.model.heard(frame.from, *request.heard.in);
  const std::size_t models = apply(decision, request, peer, turn);
  advance_clocks(frame, age_samples, peer);
  Event applied("merge.applied");
  applied.add("from", peer_name(frame.from)).add("seq", integer(frame.seq));
  if (decision.verdict == merge::Verdict::hold) applied.add("models", integer(models));
  applied.add("mseq", integer(peer.counters.merges_applied));
  if (std::string after = turn.model.digest(); !after.empty()) applied.add("after", after);
  turn.record(std::move(applied));
  observe_convergence(evidence, peer, turn);
  watch_loss(peer, turn);
  // To whoever has finished an example would be lost for training.
  if (peer.transfers && peer.progress() < 1.0 &&
      peer.table.state(frame.from) == PeerTable::State::training)
    peer.transfers->offer(frame.from, peer, turn);
  return decision;
}

namespace {

const std::string& codec_of(const PeerState& peer) {
  const std::string* const spoken = peer.codec->spoken();
  return spoken != nullptr ? *spoken : peer.settings.codec->text();
}

}  // namespace

Event sent_event(const Frame& frame, const PeerState& peer, std::optional<double> density) {
  Event event("delta.sent");
  event.add("to", peer_name(frame.to)).add("seq", integer(frame.seq));
  event.add("codec", frame.packed ? codec_of(peer) : std::string("raw"));
  event.add("bytes", integer(frame.payload_bytes())).add("wire_bytes", integer(frame.wire_bytes()));
  if (density) event.add("density", *density);
  return event;
}

Event received_event(const Frame& frame) {
  Event event("delta.received");
  event.add("from", peer_name(frame.from)).add("seq", integer(frame.seq));
  event.add("bytes", integer(frame.payload_bytes()));
  return event;
}

Event lost_event(PeerId who, const char* reason, const PeerState& peer) {
  Event event("peer.lost");
  event.add("who", peer_name(who)).add("reason", std::string(reason));
  return std::move(event.add("last_seen_ns", peer.table.last_heard(who).count()));
}

Frame weights_frame(FrameKind kind, PeerId to, const Spoken& spoken, PeerState& peer) {
  Frame frame;
  frame.kind = kind;
  frame.from = peer.settings.self;
  frame.to = to;
  frame.seq = peer.next_seq++;
  frame.samples = peer.counters.samples;
  if (peer.settings.until_converged)
    frame.votes = peer.votes.youngest(limits::vote_entries(peer.settings.peers));
  frame.pulses = peer.table.pulses(limits::kPulses);
  if (peer.steering) frame.sketches = peer.steering->for_partner(to);
  frame.values = spoken.values;
  frame.packed = spoken.packed;
  return frame;
}

Frame control_frame(FrameKind kind, PeerId to, std::uint64_t answers, PeerState& peer) {
  Frame frame;
  frame.kind = kind;
  frame.from = peer.settings.self;
  frame.to = to;
  frame.answers = answers;
  frame.samples = peer.counters.samples;
  if (peer.settings.until_converged)
    frame.votes = peer.votes.youngest(limits::vote_entries(peer.settings.peers));
  frame.pulses = peer.table.pulses(limits::kPulses);
  return frame;
}

void acknowledge(const Frame& push, PeerState& peer, Turn& turn) {
  if (push.wants_ack) turn.send(control_frame(FrameKind::ack, push.from, push.seq, peer));
}

}  // namespace hearsay::gossip
