// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/ddp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hearsay::gossip {

void Ddp::on(const Input& input, Time now, LocalModel& model, Actions& out) {
  const bool starts = std::holds_alternative<input::Start>(input);
  if (done_ && !starts) return;
  if (starts) {
    start(out);
  } else if (const auto* done = std::get_if<input::StepDone>(&input)) {
    gradient_ready(done->report, model, out);
    if (ring_->advance(model.gradient(), model, out)) step_finished(now, out);
    if (ring_->is_broken()) finish("stuck", true, out);
  } else if (const auto* in = std::get_if<input::FrameIn>(&input)) {
    ring_->receive(in->frame, out);
    if (ring_->advance(model.gradient(), model, out)) step_finished(now, out);
    if (ring_->is_broken()) finish("stuck", true, out);
  } else if (const auto* stop = std::get_if<input::Stop>(&input)) {
    stop_reason_ = stop->reason;
  } else if (const auto* down = std::get_if<input::PeerDown>(&input)) {
    partner_down(down->who, out);
  }
}

// For the first time, or again from a checkpoint: then with the weights of the last whole step.
// That all peers stand at the same one is the care of whoever starts them.
void Ddp::start(Actions& out) {
  const std::uint64_t budget = settings_.epochs * settings_.steps_per_epoch;
  out.push_back(action::Record{joined_event(
      settings_.incarnation, counters_.steps > 0 ? "resumed" : "start", counters_.steps, budget)});
  ring_->begin_again(counters_.steps > 0);
  done_ = false;
  stop_reason_.reset();
  if (counters_.steps >= budget) return finish("finished", true, out);
  out.push_back(action::TrainGradient{});
}

// A ring without one of its peers cannot add up; weights stay as after the last whole step.
void Ddp::partner_down(PeerId who, Actions& out) {
  Event lost("peer.lost");
  lost.add("who", peer_name(who)).add("reason", std::string("connection lost"));
  out.push_back(action::Record{std::move(lost)});
  finish("stuck", true, out);
}

void Ddp::gradient_ready(const StepReport& report, LocalModel& model, Actions& out) {
  report_ = report;
  for (float& g : model.gradient()) g *= static_cast<float>(report.samples);
  // A loss that is not finite travels as a NaN count, so that everyone finds out in the same step.
  own_examples_ =
      std::isfinite(report.loss) ? report.samples : std::numeric_limits<double>::quiet_NaN();
  // The wish to stop is latched here: all slices of a step say the same.
  ring_->begin(counters_.steps, {own_examples_, stop_reason_.has_value()}, model.gradient(), model,
               out);
}

void Ddp::step_finished(Time now, Actions& out) {
  const auto [examples, stop_agreed] = ring_->total();
  ++counters_.steps;
  counters_.samples += report_.samples;
  log_.add(report_);
  const bool finite = std::isfinite(examples);
  const bool last = counters_.steps == settings_.epochs * settings_.steps_per_epoch;
  if (!finite || stop_agreed || counters_.steps % settings_.steps_per_epoch == 0) {
    out.push_back(action::Record{log_.take(counters_.samples, now)});
  }
  if (!finite) {
    const bool own = std::isnan(own_examples_);
    out.push_back(action::Record{fault_event(
        own ? "loss not finite" : "a partner's loss not finite", settings_.self,
        "own loss " + std::to_string(report_.loss) + " at step " + std::to_string(counters_.steps),
        "stops training")});
    return finish("diverged", false, out);
  }
  out.push_back(action::ApplyGradient{1.0 / examples});
  if (stop_agreed) return finish(stop_reason_.value_or("stopped"), true, out);
  if (last) return finish("finished", true, out);
  out.push_back(action::TrainGradient{});
}

void Ddp::state(Archive& archive) {
  archive("counters", counters_)("log", log_)("report", report_)("ring", *ring_)("done", done_);
  archive("own_examples", own_examples_)("stop", stop_reason_);
}

void Ddp::finish(const std::string& reason, bool alive, Actions& out) {
  Event left("peer.left");
  out.push_back(action::Record{std::move(left.add("reason", reason))});
  out.push_back(action::Finish{reason, alive});
  done_ = true;
}

}  // namespace hearsay::gossip
