// SPDX-License-Identifier: Apache-2.0
#include "runtime/sim/sim_host.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "kernels/core/check.hpp"
#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

using gossip::Time;
using kernels::PeerId;

constexpr std::uint64_t kStepsPerProgressCall = 64;
constexpr double kTargetCheckEpochs = 0.25;
constexpr double kLossSmoothing = 0.05;

const std::string* text_field(const gossip::Event& event, std::string_view key) {
  for (const gossip::Field& field : event.fields) {
    if (field.key == key) return std::get_if<std::string>(&field.value);
  }
  return nullptr;
}

}  // namespace

SimHost::SimHost(SimOptions options, std::vector<SimPeer>& peers, ComputeLane& lane)
    : options_(std::move(options)),
      peers_(peers),
      lane_(lane),
      network_(options_.network, static_cast<std::uint32_t>(peers.size()), options_.seed),
      compute_(options_.compute, static_cast<std::uint32_t>(peers.size()), options_.seed),
      faults_(options_.faults, static_cast<std::uint32_t>(peers.size()), options_.seed),
      running_(peers.size()),
      live_(peers.size()) {
  outcome_.peers.resize(peers.size());
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    running_[i].job.trainer = peers[i].trainer.get();
    running_[i].budget_steps = options_.epochs * peers[i].trainer->steps_per_epoch();
    running_[i].evaluations = EvaluationPlan(options_.eval_every_epochs);
    budget_steps_ += running_[i].budget_steps;
    names_.push_back(gossip::peer_name(PeerId(i)));
    tampers_.emplace_back(options_.seed, PeerId(i));
  }
}

SimHost::~SimHost() {
  for (Running& peer : running_) {
    try {
      lane_.wait(peer.job);  // of killed peers, or when an exception ends the run
    } catch (...) {
      // The run is over, whatever a GPU has to say now.
    }
  }
}

void SimHost::begin() {
  begun_ = true;
  for (std::uint32_t i = 0; i < peers_.size(); ++i)
    push(Time{0}, {What::start, PeerId(i), {}, 0, nullptr});
  for (const Time at : faults_.wake_up_times())
    heap_.push(at, {What::fault_check, {}, {}, 0, nullptr});
  if (options_.time_limit_s) {
    heap_.push(Time(static_cast<std::int64_t>(*options_.time_limit_s * 1e9)),
               {What::time_limit, {}, {}, 0, nullptr});
  }
  check_faults(Time{0});
}

const SimOutcome& SimHost::run(EventSink& events, SimHooks hooks) {
  events_ = &events;
  hooks_ = std::move(hooks);
  bool interrupted = false;
  if (!begun_) begin();
  while (!over() && !heap_.empty()) {
    auto [now, event] = heap_.pop();
    outcome_.virtual_time = now;
    dispatch(now, std::move(event));
    if (hooks_.checkpoint_due && hooks_.checkpoint_due()) hooks_.checkpoint();
    if (!interrupted && hooks_.interrupted && hooks_.interrupted()) {
      interrupted = true;
      if (hooks_.checkpoint) hooks_.checkpoint();  // of a pool that has not been told to stop
      stop_all(now, "interrupted");
    }
    if (after_event) after_event(now);
  }
  for (Running& peer : running_) lane_.wait(peer.job);
  outcome_.stuck = live_ > 0 && !abandoned_;
  outcome_.faults_never_fired = faults_.never_fired();
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (!running_[i].dead && !running_[i].finished)
      outcome_.peers[i].reason = "did not stop in time";
  }
  return outcome_;
}

bool SimHost::over() const { return live_ == 0 || abandoned_; }

void SimHost::dispatch(Time now, Pending event) {
  const PeerId id = event.peer;
  switch (event.what) {
    case What::fault_check: return check_faults(now);
    case What::time_limit: return stop_all(now, "time");
    case What::stop_deadline:
      if (event.id == 0) {  // ask first, then end what does not stop
        stop_all(now, "stopped");
        heap_.push(now + *options_.stop_deadline, {What::stop_deadline, {}, {}, 1, nullptr});
      } else {
        abandoned_ = true;
      }
      return;
    default: break;
  }
  Running& peer = running_[id.value];
  if (event.what == What::frame && (peer.dead || peer.finished)) {  // connection refused
    outcome_.lost.add(*event.frame);
    const PeerId sender = event.frame->from;
    push(now + options_.network.latency, {What::peer_down, sender, id, 0, nullptr});
    return;
  }
  if (peer.dead || peer.finished) return;
  if (event.life != peer.life) {  // its connection broke when that one died
    if (event.what == What::frame) outcome_.lost.add(*event.frame);
    return;
  }
  if (faults_.stalled(id)) {
    peer.frozen.emplace_back(now, std::move(event));
    return;
  }
  switch (event.what) {
    case What::start: return turn(id, now, gossip::input::Start{});
    case What::step_done: return step_done(id, now);
    case What::timer: return fire_timer(id, now, event);
    case What::peer_down: return turn(id, now, gossip::input::PeerDown{event.who});
    case What::frame:
      outcome_.delivered.add(*event.frame);
      return turn(id, now, gossip::input::FrameIn{std::move(*event.frame)});
    default: return;
  }
}

void SimHost::turn(PeerId peer, Time now, const gossip::Input& input) {
  gossip::Actions actions;
  SimPeer& p = peers_[peer.value];
  p.protocol->on(input, now, *p.model, actions);
  for (gossip::Action& action : actions) carry_out(peer, now, action);
}

void SimHost::carry_out(PeerId peer, Time now, gossip::Action& action) {
  namespace act = gossip::action;
  if (std::holds_alternative<act::Train>(action)) {
    begin_step(peer, now, ComputeJob::Kind::train);
  } else if (std::holds_alternative<act::TrainGradient>(action)) {
    begin_step(peer, now, ComputeJob::Kind::gradient);
  } else if (const auto* apply = std::get_if<act::ApplyGradient>(&action)) {
    peers_[peer.value].trainer->apply_gradient(static_cast<float>(apply->scale));
  } else if (auto* out = std::get_if<act::Send>(&action)) {
    send(now, std::move(out->frame));
  } else if (const auto* timer = std::get_if<act::SetTimer>(&action)) {
    Pending pending{What::timer, peer, {}, timer->id, nullptr};
    pending.when_quiet = timer->quiet_with.has_value();
    pending.who = timer->quiet_with.value_or(PeerId());
    pending.patience = timer->patience;
    push(timer->at, std::move(pending));
  } else if (const auto* line = std::get_if<act::Record>(&action)) {
    record(now, peer, line->event);
  } else if (auto* note = std::get_if<act::Persist>(&action)) {
    running_[peer.value].written.push_back(std::move(note->line));
  } else if (std::holds_alternative<act::EndGameBegins>(action)) {
    const auto weights = peers_[peer.value].trainer->read_weights();
    outcome_.peers[peer.value].before_end_game.assign(weights.begin(), weights.end());
  } else if (const auto* end = std::get_if<act::Finish>(&action)) {
    finish(peer, now, *end);
  }
}

void SimHost::begin_step(PeerId id, Time now, ComputeJob::Kind kind) {
  Running& peer = running_[id.value];
  HS_CHECK(!peer.in_step);
  evaluate_if_due(id, now);
  peer.in_step = true;
  peer.job.kind = kind;
  lane_.submit(peer.job);
  push(now + compute_.step_time(id), {What::step_done, id, {}, 0, nullptr});
}

void SimHost::step_done(PeerId id, Time now) {
  Running& peer = running_[id.value];
  lane_.wait(peer.job);
  peer.in_step = false;
  if (peer.life == 0) ++progress_steps_;
  const double loss = peer.job.report.loss;
  peer.smoothed_loss = peer.smoothed_loss == 0.0
                           ? loss
                           : peer.smoothed_loss + kLossSmoothing * (loss - peer.smoothed_loss);
  turn(id, now, gossip::input::StepDone{peer.job.report});
  check_faults(now);
  check_target(now);
  if (++steps_ % kStepsPerProgressCall != 0) return;
  if (hooks_.progress) hooks_.progress([&] { return progress(now); });
}

void SimHost::send(Time now, gossip::Frame frame) {
  tampers_[frame.from.value].apply(frame, *peers_[frame.from.value].model);
  PeerOutcome& sender = outcome_.peers[frame.from.value];
  sender.payload_bytes += frame.payload_bytes();
  sender.wire_bytes += frame.wire_bytes();
  sender.example_bytes += frame.example_bytes();
  outcome_.sent.add(frame);
  const Time at = network_.arrival(frame.from, frame.to, frame.wire_bytes(), now);
  if (frame.carries_weights()) {
    Time& until = moving_until_[std::minmax(frame.from.value, frame.to.value)];
    until = std::max(until, at);
  }
  if (faults_.loses(frame.from, frame.to) || faults_.corrupts()) {
    outcome_.lost.add(frame);
    return;
  }
  const PeerId to = frame.to;
  const Time then = at + faults_.held_back();
  if (const auto later = faults_.comes_again()) {  // the network's doing: no bytes of the sender's
    outcome_.sent.add(frame);
    push(then + *later, {What::frame, to, {}, 0, std::make_shared<gossip::Frame>(frame)});
  }
  push(then, {What::frame, to, {}, 0, std::make_shared<gossip::Frame>(std::move(frame))});
}

void SimHost::fire_timer(PeerId id, Time now, const Pending& timer) {
  if (timer.when_quiet) {
    const auto moving = moving_until_.find(std::minmax(id.value, timer.who.value));
    if (moving != moving_until_.end() && moving->second + timer.patience > now) {
      Pending later{What::timer, id, timer.who, timer.id, nullptr, true, timer.patience};
      return push(moving->second + timer.patience, std::move(later));
    }
  }
  turn(id, now, gossip::input::Timer{timer.id});
}

void SimHost::finish(PeerId id, Time now, const gossip::action::Finish& action) {
  Running& peer = running_[id.value];
  if (peer.finished || peer.dead) return;
  peer.finished = true;
  --live_;
  outcome_.peers[id.value].alive = action.alive;
  outcome_.peers[id.value].reason = action.reason;
  outcome_.peers[id.value].ended = now;
  if (!action.alive || !options_.stop_deadline || deadline_set_) return;
  deadline_set_ = true;
  heap_.push(now + *options_.stop_deadline, {What::stop_deadline, {}, {}, 0, nullptr});
}

void SimHost::kill(PeerId id, Time now) {
  Running& peer = running_[id.value];
  if (peer.dead || peer.finished) return;
  --live_;
  peer.dead = true;
  for (const auto& [at, event] : std::exchange(peer.frozen, {})) {
    if (event.frame) outcome_.lost.add(*event.frame);
  }
  if (peer.life == 0) {
    progress_steps_ -= std::min(progress_steps_, peers_[id.value].protocol->counters().steps);
    budget_steps_ -= peer.budget_steps;
  }
  outcome_.peers[id.value].reason = "killed";
  outcome_.peers[id.value].ended = now;
  for (std::uint32_t i = 0; i < peers_.size();
       ++i) {  // their connections break, unless a partition hides it
    if (PeerId(i) == id || faults_.parted(id, PeerId(i))) continue;
    push(now + options_.network.latency, {What::peer_down, PeerId(i), id, 0, nullptr});
  }
  if (hooks_.notice)
    hooks_.notice(now, names_[id.value] + " killed; " + std::to_string(live_) + " go on");
}

// As a process that was started again without a checkpoint: it asks somebody for weights. What was
// on its way to the one that died is lost. Its mini-batches count for nobody's progress.
void SimHost::begin_again(PeerId id, Time now) {
  Running& peer = running_[id.value];
  if (!peer.dead) return;  // had finished before it could be killed
  SimPeer& parts = peers_[id.value];
  options_.rebirth.new_trainer(parts, id);
  options_.rebirth.new_protocol(parts, id, ++peer.life);
  if (options_.rebirth.recollect) options_.rebirth.recollect(parts, id, peer.written);
  peer.job = {};
  peer.job.trainer = parts.trainer.get();
  peer.in_step = peer.dead = false;
  ++live_;
  outcome_.peers[id.value].reason = "still running";
  outcome_.peers[id.value].before_end_game.clear();
  if (hooks_.notice)
    hooks_.notice(now, names_[id.value] + " begins again; " + std::to_string(live_) + " go on");
  push(now, {What::start, id, {}, 0, nullptr});
  if (stopping_) turn(id, now, gossip::input::Stop{"stopped"});
}

void SimHost::push(Time at, Pending event) {
  event.life = running_[event.peer.value].life;
  heap_.push(at, std::move(event));
}

void SimHost::stop_all(Time now, const std::string& reason) {
  if (stopping_ && reason != "stopped") return;
  stopping_ = true;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (!running_[i].dead && !running_[i].finished)
      turn(PeerId(i), now, gossip::input::Stop{reason});
  }
}

void SimHost::check_faults(Time now) {
  for (const FaultSchedule::Change& change : faults_.advance(mean_progress(), now)) {
    const Fault& fault = *change.fault;
    for (const PeerId id : fault.peers) carry_out(fault, change.begins, id, now);
    if (hooks_.notice && fault.kind != Fault::Kind::slow && fault.kind != Fault::Kind::kill) {
      hooks_.notice(now, "fault " + fault.text + (change.begins ? " begins" : " ends"));
    }
  }
}

void SimHost::carry_out(const Fault& fault, bool begins, PeerId id, Time now) {
  Running& peer = running_[id.value];
  lane_.wait(peer.job);  // its weights are looked at
  switch (fault.kind) {
    case Fault::Kind::kill: return begins ? kill(id, now) : begin_again(id, now);
    case Fault::Kind::slow: return compute_.slow_down(id, fault.factor);
    case Fault::Kind::stall: {
      if (begins) return;
      auto frozen = std::exchange(peer.frozen, {});  // what waited happens now, in order
      for (auto& [at, event] : frozen) push(now, std::move(event));
      return;
    }
    case Fault::Kind::attack:
      if (!begins) return tampers_[id.value].end();
      return tampers_[id.value].begin(fault.attack, fault.factor,
                                      peers_[id.value].model->snapshot());
    case Fault::Kind::label_flip: return peers_[id.value].trainer->flip_labels(begins);
    case Fault::Kind::poison: return poison(peers_[id.value].trainer->weights());
    case Fault::Kind::partition:
    case Fault::Kind::drop:
    case Fault::Kind::corrupt:
    case Fault::Kind::reorder:
    case Fault::Kind::duplicate: return;  // of links
  }
}

void SimHost::check_target(Time now) {
  if (!options_.target_accuracy || !hooks_.evaluate || outcome_.target_reached || stopping_) return;
  if (mean_progress() * options_.epochs + 1e-12 < next_target_check_) return;
  next_target_check_ += kTargetCheckEpochs;
  double sum = 0.0;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (running_[i].dead || (running_[i].finished && !outcome_.peers[i].alive)) continue;
    lane_.wait(running_[i].job);  // the mini-batch in flight counts as done
    const Evaluation result = hooks_.evaluate(PeerId(i), peers_[i].trainer->read_weights(), 0);
    running_[i].last_accuracy = result.accuracy;
    sum += result.accuracy;
    ++count;
  }
  if (count == 0) return;
  const double mean = sum / static_cast<double>(count);
  outcome_.target_best = std::max(outcome_.target_best, mean);
  gossip::Event event("eval.finished");
  event.add("split", std::string("test, mean over live peers")).add("acc", mean);
  events_->write(now, "pool", event);
  if (mean < *options_.target_accuracy) return;
  outcome_.target_reached = now;
  stop_all(now, "target reached");
}

void SimHost::evaluate_if_due(PeerId id, Time now) {
  Running& peer = running_[id.value];
  if (!hooks_.evaluate) return;
  const double epochs = static_cast<double>(peers_[id.value].protocol->counters().steps) /
                        static_cast<double>(peers_[id.value].trainer->steps_per_epoch());
  if (!peer.evaluations.take_due(epochs)) return;
  const Evaluation result =
      hooks_.evaluate(id, peers_[id.value].trainer->read_weights(), options_.eval_examples);
  peer.last_accuracy = result.accuracy;
  gossip::Event event("eval.finished");
  event.add("split", std::string("test")).add("loss", result.loss).add("acc", result.accuracy);
  record(now, id, event.add("count", static_cast<std::int64_t>(result.examples)));
}

double SimHost::mean_progress() const {
  return budget_steps_ == 0
             ? 1.0
             : static_cast<double>(progress_steps_) / static_cast<double>(budget_steps_);
}

SimProgress SimHost::progress(Time now) const {
  SimProgress p;
  p.now = now;
  p.progress = mean_progress();
  double loss2 = 0.0, accuracy = 0.0;
  std::uint32_t evaluated = 0;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const gossip::Counters& c = peers_[i].protocol->counters();
    p.samples += c.samples;
    p.merges += c.merges_started;
    p.refused += c.merges_refused;
    p.payload_bytes += outcome_.peers[i].payload_bytes;
    if (running_[i].dead) continue;
    ++p.live;
    p.loss_mean += running_[i].smoothed_loss;
    loss2 += running_[i].smoothed_loss * running_[i].smoothed_loss;
    if (running_[i].last_accuracy < 0.0) continue;
    accuracy += running_[i].last_accuracy;
    ++evaluated;
  }
  const double n = std::max(1u, p.live);
  p.loss_mean /= n;
  p.loss_deviation = std::sqrt(std::max(0.0, loss2 / n - p.loss_mean * p.loss_mean));
  p.accuracy = evaluated > 0 ? accuracy / evaluated : std::nan("");
  return p;
}

void SimHost::record(Time now, PeerId peer, const gossip::Event& event) {
  events_->write(now, names_[peer.value], event);
  if (!hooks_.notice) return;
  const std::string* who = text_field(event, "who");
  if (who == nullptr) return;
  if (event.name == "peer.lost") {
    const std::string* reason = text_field(event, "reason");
    hooks_.notice(now, *who + " lost (" + (reason != nullptr ? *reason : "unknown") +
                           ", noticed by " + names_[peer.value] + ")");
  } else if (event.name == "fault.seen") {
    hooks_.notice(now, names_[peer.value] + ": " + *text_field(event, "kind") + " (" + *who +
                           "): " + *text_field(event, "detail") + "; " +
                           *text_field(event, "action"));
  }
}

void SimHost::for_each_frame_in_flight(
    const std::function<void(const gossip::Frame&)>& visit) const {
  heap_.for_each([&](const Pending& event) {
    if (event.frame) visit(*event.frame);
  });
  for (const Running& peer : running_) {
    for (const auto& [at, event] : peer.frozen) {
      if (event.frame) visit(*event.frame);
    }
  }
}

}  // namespace hearsay::runtime
