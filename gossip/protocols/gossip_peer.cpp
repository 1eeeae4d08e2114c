// SPDX-License-Identifier: Apache-2.0
#include "gossip/protocols/gossip_peer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gossip/limits.hpp"
#include "gossip/merging.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

constexpr std::uint32_t kVotePatience = 8;  // merges a majority waits for missing votes

std::unique_ptr<Exchange> make_exchange(const GossipSettings& s) {
  switch (s.exchange) {
    case ExchangeKind::pairwise: return make_pairwise();
    case ExchangeKind::push: return make_push(s.wait);
    case ExchangeKind::choco: return make_choco(s);
    case ExchangeKind::push_sum: break;
  }
  return make_push_sum(s.wait);
}

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

GossipPeer::GossipPeer(const GossipSettings& settings)
    : peer_(settings),
      blocks_(settings.blocks, kernels::Rng::stream(settings.seed, "epochs", settings.self.value)),
      selector_(settings.self, *settings.topology,
                kernels::Rng::stream(settings.seed, "partner", settings.self.value)),
      exchange_(make_exchange(settings)),
      inbox_(exchange_->keep()),
      donor_rng_(kernels::Rng::stream(settings.seed, "donor", settings.self.value)) {
  const bool is_one_way =
      settings.exchange == ExchangeKind::push || settings.exchange == ExchangeKind::push_sum;
  if (is_one_way) end_exchange_ = make_pairwise();
}

void GossipPeer::on(const Input& input, Time now, LocalModel& model, Actions& out) {
  if (phase_ == Phase::done && !std::holds_alternative<input::Start>(input)) return;
  Turn turn{now, model, out};
  const std::size_t before = paid_ = out.size();
  std::visit([&](const auto& in) { handle(in, turn); }, input);
  pay(turn);
  for (std::size_t i = before; i < out.size(); ++i) {
    const auto* sent = std::get_if<action::Send>(&out[i]);
    if (sent != nullptr && sent->frame.kind != FrameKind::ping) ++frames_sent_;
    if (std::holds_alternative<action::Train>(out[i])) step_since_ = now;
  }
}

void GossipPeer::handle(const input::Start&, Turn& turn) {
  last_beat_ = turn.now;
  if (!started_) peer_.table.excuse(turn.now);  // nobody was silent before
  turn.timer(turn.now + Time(limits::kBeat), kBeatTimer);
  if (peer_.tuner) turn.model.set_lr_factor(peer_.tuner->lr_factor());
  if (std::exchange(started_, true)) return start_again(turn);
  if (peer_.outer) peer_.outer->begin(turn.model);
  exchange_->begin(peer_, turn);
  if (peer_.tuner) turn.record(peer_.tuner->event("settings.drawn"));
  if (peer_.settings.late) return start_late(turn);
  record_joined("start", turn);
  begin_block(turn);
}

void GossipPeer::begin_block(Turn& turn) {
  Blocks::Draw draw;
  do {  // K = 0: one more merge at this boundary, with another partner
    draw = blocks_.next(peer_.counters.steps);
    Event drawn("epochs.drawn");
    turn.record(std::move(drawn.add("k", integer(draw.k)).add("rng", integer(draw.rng))));
    if (draw.steps == 0 && burst_.size() + merges_due_ < limits::kBurstMerges) ++merges_due_;
  } while (draw.steps == 0);
  block_ = Block{};
  block_.steps_left = draw.steps;
  start_due_merges(turn);
  if (peer_.settings.wait && !answered()) {
    phase_ = Phase::waiting;
    return;
  }
  train_block(turn);
}

void GossipPeer::train_block(Turn& turn) {
  phase_ = Phase::training;
  block_.started = turn.now;
  turn.model.begin_block();
  turn.out.push_back(action::Train{});
}

void GossipPeer::handle(const input::StepDone& done, Turn& turn) {
  const StepReport& report = done.report;
  Counters& c = peer_.counters;
  c.samples += report.samples;
  ++c.steps;
  ++block_.steps;
  block_.samples += report.samples;
  block_.correct += report.correct;
  block_.loss_sum += report.loss * report.samples;
  block_.lr_sum += report.lr;
  note_step_time(turn);
  if (!std::isfinite(report.loss))
    return restore("loss " + std::to_string(report.loss) + " at step " + std::to_string(c.steps) +
                       ", lr " + std::to_string(report.lr),
                   turn);
  serve_inbox(turn);
  if (peer_.poisoned) return restore("found at step " + std::to_string(c.steps), turn);
  serve_fetches(turn);
  --block_.steps_left;
  if (stop_reason_) {
    end_block(turn);
    return drain(*stop_reason_, turn);
  }
  note_epoch(turn);
  if (merges_due_ == 0 && made_up_ < exchange_->missing()) {
    ++made_up_;
    ++merges_due_;
  }
  start_due_merges(turn);
  if (block_.steps_left > 0) {
    turn.out.push_back(action::Train{});
    return;
  }
  end_block(turn);
  if (peer_.poisoned) return restore("found at step " + std::to_string(c.steps), turn);
  // Merges of the last boundary that a slow partner still holds up give way to the new one.
  peer_.counters.merges_skipped += merges_due_;
  merges_due_ = 1;
  if (made_up_ > exchange_->missing()) {  // it was answered after all
    --made_up_;
    merges_due_ = 0;
  }
  burst_.clear();
  meet_strangers(turn);
  if (peer_.counters.steps < blocks_.budget_steps()) return begin_block(turn);
  start_due_merges(turn);
  drain("finished", turn);
}

void GossipPeer::note_step_time(Turn& turn) {
  const Time took = turn.now - step_since_;
  peer_.step_time =
      peer_.step_time == Time{0} ? took : peer_.step_time + (took - peer_.step_time) / 8;
}

void GossipPeer::end_block(Turn& turn) {
  const double displacement = turn.model.block_displacement();
  peer_.poisoned = peer_.poisoned || !std::isfinite(displacement);
  note_direction(turn);
  peer_.last_update_norm = block_.lr_sum > 0.0 ? displacement / block_.lr_sum : 0.0;
  const double samples = static_cast<double>(std::max<std::uint64_t>(1, block_.samples));
  Event finished("block.finished");
  finished.add("samples", integer(peer_.counters.samples)).add("steps", integer(block_.steps));
  finished.add("loss", block_.loss_sum / samples)
      .add("acc", static_cast<double>(block_.correct) / samples);
  finished.add("step_ns", (turn.now - block_.started).count() /
                              std::max<std::int64_t>(1, integer(block_.steps)));
  turn.record(std::move(finished.add("unorm", peer_.last_update_norm)));
  if (peer_.outer && !peer_.poisoned) note_restart(peer_.outer->block_ended(turn.model), turn);
  for (Event& event : turn.model.take_events()) turn.record(std::move(event));
  const std::uint64_t left = block_.steps_left;  // of a block that a stop has cut short
  block_ = Block{};
  block_.steps_left = left;
}

// Merges of one boundary follow each other: each starts once the answer to the one before has been
// applied. Started together they would all answer to the same snapshot, and two or more
// displacements from it overshoot.
void GossipPeer::start_due_merges(Turn& turn) {
  const auto may_start = [&] {
    pay(turn);
    return !peer_.budget || peer_.budget->may_start(turn.now);
  };
  if (merges_due_ > 0 && may_start()) exchange_->hurry(peer_, turn);
  while (merges_due_ > 0 && !exchange_->waiting()) {
    if (!may_start()) return forgo_merges();
    --merges_due_;
    start_merge(turn);
  }
}

// For what this turn has sent so far.
void GossipPeer::pay(const Turn& turn) {
  for (; paid_ < turn.out.size(); ++paid_) {
    const auto* sent = std::get_if<action::Send>(&turn.out[paid_]);
    if (sent != nullptr && peer_.budget) peer_.budget->pay(sent->frame.wire_bytes(), turn.now);
  }
}

bool GossipPeer::may_answer(const Frame& frame, const Turn& turn) {
  pay(turn);
  const bool costs = frame.kind == FrameKind::request && !frame.end_game;
  return !peer_.budget || !costs || peer_.budget->may_answer(turn.now);
}

// In debt to --bandwidth: while training goes on, merges wait for a later boundary; after that they
// are never started.
void GossipPeer::forgo_merges() {
  if (phase_ == Phase::training) return;
  peer_.counters.merges_skipped += merges_due_;
  merges_due_ = 0;
}

void GossipPeer::start_merge(Turn& turn) {
  afford(peer_, turn);
  if (peer_.steering) {
    for (Event& event : peer_.steering->look(peer_.merge_clock())) turn.record(std::move(event));
  }
  if (exchange_->reaches_all()) {
    const bool started = exchange_->start(peer_.settings.self, peer_, turn);
    ++(started ? peer_.counters.merges_started : peer_.counters.merges_skipped);
    return;
  }
  const auto choice = choose_partner(turn.now);
  if (!choice) {
    ++peer_.counters.merges_skipped;  // nobody to merge with: training goes on
    return;
  }
  Event chosen("partner.chosen");
  chosen.add("to", peer_name(choice->partner)).add("p", choice->probability);
  turn.record(
      std::move(chosen.add("pool", std::int64_t{choice->pool}).add("rng", integer(choice->rng))));
  burst_.push_back(choice->partner);
  const bool started = exchange_->start(choice->partner, peer_, turn);
  ++(started ? peer_.counters.merges_started : peer_.counters.merges_skipped);
}

std::optional<Choice> GossipPeer::choose_partner(Time now) {
  std::vector<PeerId> taken = burst_;
  const auto in_burst = [&](PeerId peer) {
    return std::find(taken.begin(), taken.end(), peer) != taken.end();
  };
  for (const PeerId peer : exchange_->overdue())
    if (!in_burst(peer)) taken.push_back(peer);
  const auto excluded = [&](PeerId peer) {
    return !peer_.table.may_merge(peer, now) || in_burst(peer) || peer_.ignores(peer);
  };
  const auto in_reach = std::count_if(taken.begin(), taken.end(),
                                      [&](PeerId p) { return peer_.table.may_merge(p, now); });
  std::vector<double> weights;
  if (peer_.steering) weights = peer_.steering->weights(peer_.progress());
  // Skipped merges count too: a topology that rotates must move on from a neighbour that is gone.
  return selector_.choose(peer_.counters.merges_started + peer_.counters.merges_skipped, excluded,
                          peer_.table.out_of_reach() + peer_.table.avoided() +
                              static_cast<std::size_t>(in_reach) +
                              peer_.strikes.ignored(peer_.merge_clock()),
                          weights);
}

bool GossipPeer::answered() const {
  return merges_due_ == 0 && !exchange_->waiting() &&
         (end_exchange_ == nullptr || !end_exchange_->waiting());
}

void GossipPeer::diverged(const std::string& detail, Turn& turn) {
  turn.record(fault_event("loss not finite", peer_.settings.self, detail,
                          "stops training and offers its weights no more"));
  peer_.table.say_goodbye();
  for (std::uint32_t i = 0; i < peer_.settings.peers; ++i) {
    if (PeerId(i) != peer_.settings.self &&
        peer_.table.state(PeerId(i)) != PeerTable::State::absent)
      turn.send(control_frame(FrameKind::left, PeerId(i), 0, peer_));
  }
  Event left("peer.left");
  turn.record(std::move(left.add("reason", std::string("diverged"))));
  turn.out.push_back(action::Finish{"diverged", false});
  phase_ = Phase::done;
}

void GossipPeer::handle(const input::FrameIn& in, Turn& turn) {
  const Frame& frame = in.frame;
  if (!take_pulses(frame, turn)) return;
  peer_.votes.learn(frame.votes);
  if (peer_.steering && !peer_.ignores(frame.from))
    peer_.steering->learn(frame.sketches, frame.from, peer_.merge_clock());
  if (frame.end_game && phase_ == Phase::lingering && peer_.settings.end_game_rounds > 0)
    enter_end_game(turn);
  switch (frame.kind) {
    case FrameKind::ping: return answer_ping(frame, turn);
    case FrameKind::pong: return;
    case FrameKind::chunk: return;  // belongs to baselines
    case FrameKind::fetch: return fetch_asked(frame, turn);
    case FrameKind::model: return adopt(frame, turn);
    case FrameKind::examples:
    case FrameKind::receipt:
    case FrameKind::offered: return examples_came(frame, turn);
    case FrameKind::busy:
      if (!fetch_ || fetch_->donor != frame.from || fetch_->seq != frame.answers) break;
      return donor_failed("busy", turn);
    case FrameKind::finished:
      if (phase_ < Phase::end_game || frame.end_game) peer_.table.finished(frame.from);
      if (frame.converged && peer_.settings.until_converged && !stop_reason_)
        stop_reason_ = "converged";
      return progress_when_answered(turn);
    case FrameKind::left:
      peer_.table.left(frame.from);
      partner_down(frame.from, turn);
      return progress_when_answered(turn);
    default: break;
  }
  accept_weights(frame, turn);
}

void GossipPeer::accept_weights(Frame frame, Turn& turn) {
  if (frame.carries_weights() && !peer_.acquaintances[frame.from].came.take(frame.seq)) {
    // No answer: the first one has had it, or will, and mass that was kept must not go back.
    if (!peer_.ignores(frame.from)) strike(frame.from, "sent before", peer_, turn);
    return refuse(frame, "sent before", peer_, turn);
  }
  if (frame.carries_weights()) turn.record(received_event(frame));
  if (frame.carries_weights() && phase_ == Phase::joining)
    return refuse_weights(std::move(frame), "has no weights yet", turn);
  if (frame.carries_weights() && peer_.ignores(frame.from))
    return refuse_weights(std::move(frame), "ignored after three bad ones", turn);
  if (!may_answer(frame, turn))
    return refuse_weights(std::move(frame), "no bandwidth left for an answer", turn);
  if (at_boundary() || !frame.carries_weights()) {
    exchange_for(frame).receive(std::move(frame), peer_, turn);
    if (peer_.poisoned) return restore("found between two blocks", turn);
    return progress_when_answered(turn);
  }
  if (auto refused = inbox_.add(std::move(frame)))
    refuse_weights(std::move(*refused), "superseded or inbox full", turn);
}

void GossipPeer::refuse_weights(Frame frame, const char* why, Turn& turn) {
  refuse(frame, why, peer_, turn);
  Exchange& exchange = exchange_for(frame);
  exchange.refuse(std::move(frame), peer_, turn);
}

Exchange& GossipPeer::exchange_for(const Frame& frame) {
  const bool pair = frame.kind == FrameKind::request || frame.kind == FrameKind::reply ||
                    frame.kind == FrameKind::busy;
  return pair && end_exchange_ ? *end_exchange_ : *exchange_;
}

void GossipPeer::serve_inbox(Turn& turn) {
  while (auto frame = inbox_.take()) {
    if (!may_answer(*frame, turn)) {
      refuse_weights(std::move(*frame), "no bandwidth left for an answer", turn);
      continue;
    }
    Exchange& exchange = exchange_for(*frame);
    exchange.receive(std::move(*frame), peer_, turn);
  }
  serve_examples(turn);
  check_votes();
}

// The examples of a mini-batch in progress stay where they are until it is done.
void GossipPeer::examples_came(const Frame& frame, Turn& turn) {
  if (!peer_.transfers || example_frames_.size() >= limits::kOffersWaiting) return;
  const auto of_one = std::count_if(
      example_frames_.begin(), example_frames_.end(),
      [&](const Frame& each) { return each.from == frame.from && each.kind == frame.kind; });
  if (std::cmp_greater_equal(of_one, limits::kOffersOfOne)) return;
  example_frames_.push_back(frame);
  if (at_boundary()) serve_examples(turn);
}

void GossipPeer::serve_examples(Turn& turn) {
  while (!example_frames_.empty()) {
    const Frame frame = std::move(example_frames_.front());
    example_frames_.pop_front();
    peer_.transfers->receive(frame, peer_, turn);
  }
}

// Stops when everyone has voted, or when a majority has and the missing votes have not come for
// kVotePatience merges.
void GossipPeer::check_votes() {
  if (!peer_.settings.until_converged || stop_reason_) return;
  const std::uint32_t fresh = peer_.votes.fresh(), present = peer_.table.present();
  peer_.counters.votes_heard = fresh;
  const auto applied = static_cast<std::uint32_t>(peer_.counters.merges_applied);
  if (fresh * 2 > present) {
    majority_merges_ += applied - merges_seen_;
  } else {
    majority_merges_ = 0;
  }
  merges_seen_ = applied;
  if (fresh >= present || majority_merges_ >= kVotePatience) stop_reason_ = "converged";
}

void GossipPeer::handle(const input::PeerDown& down, Turn& turn) {
  if (peer_.table.gone(down.who)) turn.record(lost_event(down.who, "connection lost", peer_));
  partner_down(down.who, turn);
  progress_when_answered(turn);
}

void GossipPeer::partner_down(PeerId who, Turn& turn) {
  exchange_->partner_down(who, peer_, turn);
  if (end_exchange_) end_exchange_->partner_down(who, peer_, turn);
  if (fetch_ && fetch_->donor == who) donor_failed("connection lost", turn);
}

void GossipPeer::handle(const input::Timer& timer, Turn& turn) {
  if (timer.id == kLingerTimer) return look_for_the_silent(turn);
  if (timer.id == kBeatTimer) return beat(turn);
  if (fetch_ && fetch_->seq == timer.id) return donor_failed("no answer before the deadline", turn);
  exchange_->timeout(timer.id, peer_, turn);
  if (end_exchange_) end_exchange_->timeout(timer.id, peer_, turn);
  progress_when_answered(turn);
}

void GossipPeer::state(Archive& archive) {
  archive.of_pool(peer_.settings.peers);
  archive("peer", peer_)("blocks", blocks_)("selector", selector_)("inbox", inbox_);
  archive("exchange", *exchange_);
  if (end_exchange_) archive("end_exchange", *end_exchange_);
  archive("phase", phase_)("block", block_)("burst", burst_)("merges_due", merges_due_);
  archive("made_up", made_up_);
  archive("stop_reason", stop_reason_)("finish_reason", finish_reason_);
  archive("majority_merges", majority_merges_)("merges_seen", merges_seen_);
  archive("rounds_left", rounds_left_)("lingering_since", lingering_since_);
  archive("fetch", fetch_)("asked", asked_)("joining_since", joining_since_)("donor", donor_rng_);
  archive("fetches", fetches_)("last_beat", last_beat_)("frames_sent", frames_sent_);
  archive("frames_at_beat", frames_at_beat_)("step_since", step_since_)("started", started_);
  if (peer_.transfers) archive("example_frames", example_frames_);
  archive("fetch_quiet", fetch_quiet_)("restores", restores_)("restoring", restoring_);
  if (!archive.loading()) return;
  for (const Frame& frame : example_frames_) {
    if (frame.kind < FrameKind::examples) archive.fail("example_frames", "one is of another kind");
  }
  if (phase_ < Phase::joining || phase_ > Phase::done) archive.fail("phase", "does not exist");
  if (phase_ == Phase::end_game || phase_ == Phase::last_lingering) use_end_game_policy();
}

void GossipPeer::handle(const input::Stop& stop, Turn& turn) {
  if (!stop_reason_) stop_reason_ = stop.reason;
  switch (phase_) {
    case Phase::joining:
    case Phase::waiting: return drain(*stop_reason_, turn);
    case Phase::end_game: rounds_left_ = 0; return;
    case Phase::lingering:
    case Phase::last_lingering: return leave_early(turn);
    default: return;  // training and draining stop by themselves
  }
}

}  // namespace hearsay::gossip
