// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/ddp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hearsay::gossip {

Ddp::Range Ddp::slice_range(std::size_t size, std::uint32_t peers, std::uint32_t slice) {
  return {size * slice / peers, size * (slice + 1) / peers};
}

void Ddp::on(const Input& input, Time now, LocalModel& model, Actions& out) {
  const bool starts = std::holds_alternative<input::Start>(input);
  if (done_ && !starts) return;
  if (starts) {
    start(out);
  } else if (const auto* done = std::get_if<input::StepDone>(&input)) {
    gradient_ready(done->report, model, out);
    if (settings_.peers == 1) return step_finished(now, out);
    take_waiting(now, model, out);
  } else if (const auto* in = std::get_if<input::FrameIn>(&input)) {
    if (in->frame.kind != FrameKind::chunk || in->frame.from != previous() || waits_for_ever_)
      return;
    // In a step the peer before this one sends 2 (n - 1) slices, and it enters the next step only
    // with this one's help: more than that never waits.
    if (waiting_.size() >= 2 * (settings_.peers - 1))
      return break_ring(in->frame, "more slices came than a step has", out);
    waiting_.push_back(in->frame);
    take_waiting(now, model, out);
  } else if (const auto* stop = std::get_if<input::Stop>(&input)) {
    stop_reason_ = stop->reason;
    if (waits_for_ever_) finish(*stop_reason_, true, out);
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
  if (counters_.steps > 0) waiting_.clear();
  hops_ = 0;
  reducing_ = done_ = waits_for_ever_ = wants_stop_ = stop_agreed_ = false;
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
  reducing_ = true;
  hops_ = 0;
  wants_stop_ = stop_reason_.has_value();  // latched: all slices of a step say the same
  stop_agreed_ = wants_stop_;
  // A loss that is not finite travels as a NaN count, so that everyone finds out in the same step.
  own_examples_ =
      std::isfinite(report.loss) ? report.samples : std::numeric_limits<double>::quiet_NaN();
  examples_ = own_examples_;
  if (settings_.peers > 1)
    send_slice(settings_.self.value, {own_examples_, wants_stop_}, model, out);
}

void Ddp::send_slice(std::uint32_t slice, const Sum& sum, LocalModel& model, Actions& out) {
  const Range range = slice_range(model.size(), settings_.peers, slice);
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = settings_.self;
  frame.to = next();
  frame.seq = counters_.steps;
  frame.slice = slice;
  frame.mass = sum.examples;
  frame.converged = sum.stop;
  frame.values = model.copy(model.gradient().subspan(range.begin, range.end - range.begin));
  out.push_back(action::Send{std::move(frame)});
}

void Ddp::take_waiting(Time now, LocalModel& model, Actions& out) {
  // TCP and the simulated network keep a link's order, so the first frame in line is the next one
  // due.
  while (reducing_ && !done_ && !waiting_.empty()) {
    const Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    take_slice(frame, now, model, out);
  }
}

void Ddp::break_ring(const Frame& frame, const std::string& why, Actions& out) {
  out.push_back(action::Record{fault_event("slice lost", frame.from, why, "waits for ever")});
  waiting_.clear();
  reducing_ = false;
  waits_for_ever_ = true;
}

void Ddp::take_slice(const Frame& frame, Time now, LocalModel& model, Actions& out) {
  const std::uint32_t n = settings_.peers;
  const std::uint32_t due = (settings_.self.value + 2 * n - 1 - hops_) % n;
  const Range range = slice_range(model.size(), n, due);
  const auto own = model.gradient().subspan(range.begin, range.end - range.begin);
  // More peers than values: some slices are empty, and travel as frames without values.
  const auto in = frame.values ? frame.values->span() : std::span<const float>{};
  // A slice before this one was lost, or this is none: the ring cannot go on.
  if (frame.seq != counters_.steps || frame.slice != due || in.size() != own.size()) {
    return break_ring(
        frame,
        "slice " + std::to_string(frame.slice) + " of step " + std::to_string(frame.seq) +
            " with " + std::to_string(in.size()) + " values came, " + std::to_string(due) + " of " +
            std::to_string(counters_.steps) + " with " + std::to_string(own.size()) + " was due",
        out);
  }
  Sum sum{frame.mass, frame.converged};
  const bool summing =
      hops_ < n - 1;  // first n - 1 hops add up, the next n - 1 hand round the sums
  if (summing) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = in[i] + own[i];
    sum.examples += own_examples_;
    sum.stop = sum.stop || wants_stop_;
  } else {
    std::copy(in.begin(), in.end(), own.begin());
  }
  if (++hops_ >= n - 1) {
    examples_ = sum.examples;
    stop_agreed_ = sum.stop;
  }
  if (hops_ < 2 * (n - 1)) return send_slice(frame.slice, sum, model, out);
  step_finished(now, out);
}

void Ddp::step_finished(Time now, Actions& out) {
  reducing_ = false;
  ++counters_.steps;
  counters_.samples += report_.samples;
  log_.add(report_);
  const bool finite = std::isfinite(examples_);
  const bool last = counters_.steps == settings_.epochs * settings_.steps_per_epoch;
  if (!finite || stop_agreed_ || counters_.steps % settings_.steps_per_epoch == 0) {
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
  out.push_back(action::ApplyGradient{1.0 / examples_});
  if (stop_agreed_) return finish(stop_reason_.value_or("stopped"), true, out);
  if (last) return finish("finished", true, out);
  out.push_back(action::TrainGradient{});
}

void Ddp::state(Archive& archive) {
  archive("counters", counters_)("log", log_)("report", report_)("waiting", waiting_);
  archive("hops", hops_)("reducing", reducing_)("done", done_)("waits_for_ever", waits_for_ever_);
  archive("wants_stop", wants_stop_)("stop_agreed", stop_agreed_);
  archive("own_examples", own_examples_)("examples", examples_)("stop", stop_reason_);
}

void Ddp::finish(const std::string& reason, bool alive, Actions& out) {
  Event left("peer.left");
  out.push_back(action::Record{std::move(left.add("reason", reason))});
  out.push_back(action::Finish{reason, alive});
  done_ = true;
}

}  // namespace hearsay::gossip
