// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/live_host.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "gossip/event.hpp"
#include "kernels/core/check.hpp"
#include "runtime/host/status_notes.hpp"

namespace hearsay::runtime {
namespace {

using namespace std::chrono_literals;
using gossip::Time;
namespace act = gossip::action;

constexpr Time kLookOutside = 20ms;
constexpr Time kTellStatus = 250ms;
// After a stop a peer answers what is on its way; then it says goodbye to those who still train,
// and if even that does not end it (an answer that does not come), it is ended as it stands.
constexpr Time kGoodbyeAfter = 2s, kGiveUpAfter = 4s;
constexpr Time kLeaveTick = 100ms;       // a peer that leaves alone says goodbye as soon as it may
constexpr double kLossSmoothing = 0.05;  // as in the simulation

}  // namespace

LiveHost::LiveHost(LiveOptions options, Trainer& trainer, OwnModel& model,
                   gossip::Protocol& protocol, Transport& transport, Arrivals& arrivals,
                   EventSink& events, LiveHooks hooks)
    : options_(options),
      trainer_(trainer),
      model_(model),
      protocol_(protocol),
      transport_(transport),
      arrivals_(arrivals),
      events_(events),
      hooks_(std::move(hooks)),
      name_(gossip::peer_name(options.self)),
      drops_(kernels::Rng::stream(options.seed, "drop", options.self.value)),
      tamper_(options.seed, options.self),
      start_(std::chrono::steady_clock::now()),
      evaluations_(options.eval_every_epochs) {}

Time LiveHost::clock() const { return std::chrono::steady_clock::now() - start_; }

double LiveHost::epochs() const {
  return static_cast<double>(protocol_.counters().steps) /
         static_cast<double>(trainer_.steps_per_epoch());
}

LiveOutcome LiveHost::run() {
  start_ = std::chrono::steady_clock::now() - options_.begin_at;
  looked_at_ = told_at_ = options_.begin_at - 1s;  // both are due
  told_samples_ = protocol_.counters().samples;
  turn(gossip::input::Start{});
  while (!done_) {
    if (asked_ != Step::none) {
      train_step();
    } else {
      take_arrivals(std::clamp<Time>(until_next_alarm(), 0ns, kLookOutside));
    }
    look_outside();
  }
  send_status(PeerStatus::State::lingering);  // the last numbers
  return so_far();
}

LiveOutcome LiveHost::so_far() const {
  LiveOutcome outcome = outcome_;
  outcome.wall_s = std::chrono::duration<double>(clock() - options_.begin_at).count();
  return outcome;
}

void LiveHost::turn(const gossip::Input& input) {
  if (done_) return;
  now_ = clock();
  if (hooks_.journal != nullptr) hooks_.journal->turn(input, now_);
  gossip::Actions actions;
  protocol_.on(input, now_, model_, actions);
  for (gossip::Action& action : actions) carry_out(action);
}

void LiveHost::carry_out(gossip::Action& action) {
  if (std::holds_alternative<act::Train>(action)) {
    asked_ = Step::train;
  } else if (std::holds_alternative<act::TrainGradient>(action)) {
    asked_ = Step::gradient;
  } else if (const auto* apply = std::get_if<act::ApplyGradient>(&action)) {
    trainer_.apply_gradient(static_cast<float>(apply->scale));
  } else if (auto* out = std::get_if<act::Send>(&action)) {
    send(std::move(out->frame));
  } else if (const auto* timer = std::get_if<act::SetTimer>(&action)) {
    alarms_.push({timer->at, timer->id, timer->quiet_with, timer->patience});
  } else if (const auto* line = std::get_if<act::Record>(&action)) {
    record(line->event);
    journal_merge(line->event);
  } else if (const auto* note = std::get_if<act::Persist>(&action)) {
    // A replay makes the same lines, at least as many as there are.
    if (hooks_.journal != nullptr) hooks_.journal->flush();
    if (hooks_.persist) hooks_.persist(note->line);
  } else if (std::holds_alternative<act::EndGameBegins>(action)) {
    const auto weights = trainer_.read_weights();
    outcome_.before_end_game.assign(weights.begin(), weights.end());
  } else if (const auto* end = std::get_if<act::Finish>(&action)) {
    done_ = true;
    outcome_.alive = end->alive;
    outcome_.reason = end->reason;
  }
}

void LiveHost::send(gossip::Frame frame) {
  const NetworkFaults& network = orders_.network;
  if (network.parts(options_.self, frame.to)) return;
  if (network.drop > 0.0 && drops_.uniform() < network.drop) return;
  const bool corrupt = network.corrupt > 0.0 && drops_.uniform() < network.corrupt;
  tamper_.apply(frame, model_);
  // Whoever gets these weights can only be replayed if what led to them is known.
  if (frame.carries_weights() && hooks_.journal != nullptr) hooks_.journal->flush();
  transport_.send(std::move(frame),
                  corrupt ? Transport::Delivery::corrupted : Transport::Delivery::whole);
}

// A mini-batch, and then its boundary: first what has arrived, then that the mini-batch is done.
void LiveHost::train_step() {
  evaluate_if_due();
  const Step step = std::exchange(asked_, Step::none);
  const Time begin = clock();
  const gossip::StepReport report =
      step == Step::train ? trainer_.train(0) : trainer_.train_gradient(0);
  const Time took = clock() - begin;
  if (hooks_.journal != nullptr) hooks_.journal->trained();
  outcome_.train_s += std::chrono::duration<double>(took).count();
  if (orders_.slow_factor > 1.0) std::this_thread::sleep_for((orders_.slow_factor - 1.0) * took);
  status_.step_seconds.add(std::chrono::duration<double>(clock() - begin).count());
  status_.loss = status_.loss == 0.0 ? report.loss
                                     : status_.loss + kLossSmoothing * (report.loss - status_.loss);
  take_arrivals(0ns);
  fire_alarms();
  turn(gossip::input::StepDone{report});
}

void LiveHost::take_arrivals(std::chrono::nanoseconds at_most) {
  for (Arrivals::Item& item : arrivals_.take(at_most)) {
    if (auto* frame = std::get_if<gossip::Frame>(&item)) {
      if (!orders_.network.parts(frame->from, options_.self))
        turn(gossip::input::FrameIn{std::move(*frame)});
    } else if (const auto* down = std::get_if<Arrivals::PeerDown>(&item)) {
      turn(gossip::input::PeerDown{down->who});
    } else if (const auto* fault = std::get_if<Arrivals::TransportFault>(&item)) {
      gossip::Event event("fault.seen");
      event.add("kind", fault->kind).add("who", name_).add("detail", fault->detail);
      now_ = clock();
      record(event.add("action", std::string("goes on")));
    }
  }
  if (asked_ == Step::none) fire_alarms();
}

void LiveHost::fire_alarms() {
  while (!done_ && !alarms_.empty() && alarms_.top().at <= clock()) {
    const Alarm alarm = alarms_.top();
    alarms_.pop();
    if (!put_off(alarm)) turn(gossip::input::Timer{alarm.id});
  }
}

// Weights still move with the peer whose silence the alarm is about.
bool LiveHost::put_off(Alarm alarm) {
  if (!alarm.quiet_with) return false;
  const Time moved = transport_.moved_at(*alarm.quiet_with) - start_;
  if (moved + alarm.patience <= clock()) return false;
  alarm.at = moved + alarm.patience;
  alarms_.push(alarm);
  return true;
}

Time LiveHost::until_next_alarm() const {
  return alarms_.empty() ? kLookOutside : alarms_.top().at - clock();
}

// Orders from outside, the state of the log, and a status for whoever watches.
void LiveHost::look_outside() {
  const Time now = clock();
  if (now - looked_at_ < kLookOutside && !done_) return;
  looked_at_ = now;
  if (hooks_.poll) hooks_.poll(orders_);
  for (const HostileOrder& order : std::exchange(orders_.hostile, {})) obey(order);
  if (hooks_.boundary) hooks_.boundary(*this, orders_);
  if (!done_ && hooks_.log_failure && hooks_.log_failure()) {
    done_ = true;
    outcome_.alive = false;
    outcome_.reason = "log failed";
  }
  if (orders_.stop && !done_) obey_stop();
  const bool ordered = orders_.evaluate_round > status_.evaluation_round && hooks_.evaluate;
  if (ordered && !done_) {
    evaluate();
    status_.evaluation_round = orders_.evaluate_round;
  } else if (now - told_at_ < kTellStatus || done_) {
    return;
  }
  const bool finished = epochs() >= options_.epochs;
  send_status(asked_ != Step::none ? PeerStatus::State::training
              : finished           ? PeerStatus::State::lingering
                                   : PeerStatus::State::waiting);
}

void LiveHost::state(gossip::Archive& a) {
  JournalMark mark{options_.incarnation, hooks_.journal != nullptr ? hooks_.journal->entries() : 0};
  a("evaluations", evaluations_)("loss", status_.loss)("drops", drops_)("journal", mark);
}

// Tile by tile, so that a replay can say where weights differ.
void LiveHost::journal_merge(const gossip::Event& event) {
  if (hooks_.journal == nullptr || event.name != "merge.applied") return;
  const auto* mseq = field_of(event, "mseq");
  if (mseq == nullptr || field_of(event, "after") == nullptr) return;
  hooks_.journal->digests(static_cast<std::uint64_t>(std::get<std::int64_t>(*mseq)),
                          model_.take_tiles());
}

void LiveHost::obey(const HostileOrder& order) {
  if (hooks_.journal != nullptr)
    hooks_.journal->hostile({order.what, order.strength, order.begins});
  if (const auto attack = find_attack(order.what)) {
    if (!order.begins) return tamper_.end();
    return tamper_.begin(*attack, order.strength, model_.snapshot());
  }
  if (order.what == "label-flip") trainer_.flip_labels(order.begins);
  if (order.what == "poison") poison(trainer_.weights());
}

void LiveHost::obey_stop() {
  if (stops_ == 0) stop_asked_at_ = clock();
  const Time waited = clock() - stop_asked_at_;
  const bool again =
      orders_.leaves ? waited >= stops_ * kLeaveTick : stops_ == 1 && waited >= kGoodbyeAfter;
  if (stops_ == 0 || again) {
    ++stops_;
    turn(gossip::input::Stop{*orders_.stop});
  }
  if (done_ || waited < kGiveUpAfter) return;
  done_ = true;
  outcome_.alive = true;
  outcome_.reason = *orders_.stop;
  gossip::Event left("peer.left");
  now_ = clock();
  record(left.add("reason", *orders_.stop));
}

void LiveHost::evaluate_if_due() {
  if (hooks_.evaluate && evaluations_.take_due(epochs())) evaluate();
}

void LiveHost::evaluate() {
  status_.evaluated_s = std::chrono::duration<double>(clock()).count();
  const Evaluation result = hooks_.evaluate(trainer_.read_weights(), options_.eval_examples);
  status_.accuracy = result.accuracy;
  status_.evaluated_epochs = epochs();
  gossip::Event event("eval.finished");
  event.add("split", std::string("test")).add("loss", result.loss).add("acc", result.accuracy);
  now_ = clock();
  record(event.add("count", static_cast<std::int64_t>(result.examples)));
}

void LiveHost::record_now(const gossip::Event& event) {
  if (done_) return;
  now_ = clock();
  record(event);
}

void LiveHost::record(const gossip::Event& event) {
  events_.write(now_, name_, event);
  note_event(event, std::chrono::duration<double>(now_).count(), status_);
  if (event.name == "peer.lost" && hooks_.notice) {
    const auto *who = field_of(event, "who"), *reason = field_of(event, "reason");
    if (who != nullptr && reason != nullptr) {
      hooks_.notice(std::get<std::string>(*who) + " lost (" + std::get<std::string>(*reason) +
                    ", noticed by " + name_ + ")");
    }
  }
}

void LiveHost::send_status(PeerStatus::State state) {
  if (!hooks_.status) return;
  const Time now = clock();
  const gossip::Counters& c = protocol_.counters();
  const double seconds = std::chrono::duration<double>(now - told_at_).count();
  const TransportMeter meter = transport_.meter();
  status_.state = state;
  status_.clock_s = std::chrono::duration<double>(now).count();
  status_.epochs = epochs();
  status_.progress = status_.epochs / options_.epochs;
  status_.samples_per_s = static_cast<double>(c.samples - told_samples_) / seconds;
  status_.samples = c.samples;
  status_.merges = c.merges_started;
  status_.merges_applied = c.merges_applied;
  status_.merges_refused = c.merges_refused;
  status_.merges_skipped = c.merges_skipped;
  status_.partners_alive = protocol_.partners_alive();
  status_.inbox_depth = 0;
  protocol_.for_each_waiting([&](const gossip::Frame&) { ++status_.inbox_depth; });
  status_.payload_bytes = meter.payload_bytes_sent;
  status_.wire_bytes = meter.wire_bytes_sent;
  status_.payload_bytes_received = meter.payload_bytes_received;
  status_.wire_bytes_received = meter.wire_bytes_received;
  told_at_ = now;
  told_samples_ = c.samples;
  hooks_.status(status_);
}

}  // namespace hearsay::runtime
