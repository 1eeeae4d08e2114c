// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/diloco.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gossip/merging.hpp"

namespace hearsay::gossip {

void Diloco::on(const Input& input, Time now, LocalModel& model, Actions& out) {
  const bool starts = std::holds_alternative<input::Start>(input);
  if (done_ && !starts) return;
  if (starts) {
    start(now, model, out);
  } else if (const auto* done = std::get_if<input::StepDone>(&input)) {
    step_done(done->report, now, model, out);
    if (ring_->is_broken() && !done_) finish("stuck", true, out);
  } else if (const auto* in = std::get_if<input::FrameIn>(&input)) {
    ring_->receive(in->frame, out);
    take_waiting(now, model, out);
    if (ring_->is_broken()) finish("stuck", true, out);
  } else if (const auto* stop = std::get_if<input::Stop>(&input)) {
    stop_reason_ = stop->reason;
  } else if (const auto* down = std::get_if<input::PeerDown>(&input)) {
    partner_down(down->who, out);
  }
}

// For the first time, or again from a checkpoint, within a round: slow weights and momentum are as
// they were. That all peers stand in the same round is the care of whoever starts them.
void Diloco::start(Time now, LocalModel& model, Actions& out) {
  const bool is_first = counters_.steps == 0;
  out.push_back(action::Record{joined_event(settings_.incarnation, is_first ? "start" : "resumed",
                                            counters_.steps, budget())});
  // Empty: the pool has another size than the one it goes on from, where a round had ended.
  if (is_first || outer_.slow().empty()) outer_.begin(model);
  const bool was_reducing = ring_->is_reducing();
  ring_->begin_again(!is_first);
  values_ = {};
  done_ = false;
  stop_reason_.reset();
  if (counters_.steps >= budget() && steps_in_round_ == 0) return finish("finished", true, out);
  // What this peer had given to a round that was cut off is given again.
  if (was_reducing || steps_in_round_ >= settings_.steps_a_round || counters_.steps >= budget()) {
    reduce(model, out);
    return take_waiting(now, model, out);
  }
  out.push_back(action::Train{});
}

// A ring without one of its peers cannot add up; the weights are those that it trained alone.
void Diloco::partner_down(PeerId who, Actions& out) {
  Event lost("peer.lost");
  lost.add("who", peer_name(who)).add("reason", std::string("connection lost"));
  out.push_back(action::Record{std::move(lost)});
  finish("stuck", true, out);
}

void Diloco::step_done(const StepReport& report, Time now, LocalModel& model, Actions& out) {
  ++counters_.steps;
  ++steps_in_round_;
  counters_.samples += report.samples;
  last_loss_ = report.loss;
  is_finite_ = std::isfinite(report.loss);
  log_.add(report);
  if (counters_.steps % settings_.steps_per_epoch == 0)
    out.push_back(action::Record{log_.take(counters_.samples, now)});
  const bool is_due = steps_in_round_ >= settings_.steps_a_round || counters_.steps >= budget();
  // A stop waits for the end of the round, so that all peers stand at the same mini-batch.
  if (!is_due && is_finite_) {
    out.push_back(action::Train{});
    return;
  }
  reduce(model, out);
  take_waiting(now, model, out);
}

void Diloco::take_waiting(Time now, LocalModel& model, Actions& out) {
  if (values_.size() == 0) return;  // the own part is not ready
  if (ring_->advance(values_.span(), model, out)) round_finished(now, model, out);
}

// A loss that is not finite travels as a NaN weight, so that everyone finds out in the same round.
void Diloco::reduce(LocalModel& model, Actions& out) {
  const merge::SnapshotRef own = model.snapshot();
  values_ = kernels::Buffer<float>(own->size());
  std::copy(own->span().begin(), own->span().end(), values_.data());
  if (settings_.reduce.codec) {
    const std::span<const float> slow = outer_.slow();
    for (std::size_t i = 0; i < slow.size(); ++i) values_.data()[i] -= slow[i];
  }
  ring_->begin(
      round_,
      {is_finite_ ? 1.0 : std::numeric_limits<double>::quiet_NaN(), stop_reason_.has_value()},
      values_.span(), model, out);
}

void Diloco::round_finished(Time now, LocalModel& model, Actions& out) {
  const AllReduce::Sum total = ring_->total();
  ++round_;
  steps_in_round_ = 0;
  const bool is_last = counters_.steps >= budget();
  if ((total.stop || !std::isfinite(total.weight)) &&
      counters_.steps % settings_.steps_per_epoch != 0)
    out.push_back(action::Record{log_.take(counters_.samples, now)});
  if (!std::isfinite(total.weight)) {
    out.push_back(action::Record{fault_event(
        is_finite_ ? "a partner's loss not finite" : "loss not finite", settings_.self,
        "own loss " + std::to_string(last_loss_) + " at step " + std::to_string(counters_.steps),
        "stops training")});
    return finish("diverged", false, out);
  }
  kernels::Buffer<float> sum = std::exchange(values_, {});
  const std::span<float> mean = sum.span();
  const float share = static_cast<float>(1.0 / total.weight);
  for (float& value : mean) value *= share;
  if (settings_.reduce.codec) {
    const std::span<const float> slow = outer_.slow();
    for (std::size_t i = 0; i < slow.size(); ++i) mean[i] += slow[i];
  }
  Turn turn{now, model, out};
  note_restart(outer_.step_to(mean, model), turn);
  if (total.stop) return finish(stop_reason_.value_or("stopped"), true, out);
  if (is_last) return finish("finished", true, out);
  out.push_back(action::Train{});
}

void Diloco::state(Archive& archive) {
  archive("counters", counters_)("log", log_)("ring", *ring_)("done", done_);
  archive.of_pool(settings_.peers);  // slices of the ring are no whole models, all else is
  archive("outer", outer_);
  archive.array("values", values_);
  if (values_.size() != 0 && values_.size() != outer_.slow().size())
    archive.fail("values", "are of another size than the slow weights");
  archive("round", round_)("steps_in_round", steps_in_round_)("stop", stop_reason_);
  archive("last_loss", last_loss_)("finite", is_finite_);
}

void Diloco::finish(const std::string& reason, bool alive, Actions& out) {
  Event left("peer.left");
  out.push_back(action::Record{std::move(left.add("reason", reason))});
  out.push_back(action::Finish{reason, alive});
  done_ = true;
}

}  // namespace hearsay::gossip
