// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/local.hpp"

#include <cmath>

namespace hearsay::gossip {

void Local::on(const Input& input, Time now, LocalModel&, Actions& out) {
  const bool starts = std::holds_alternative<input::Start>(input);
  if (done_ && !starts) return;
  if (starts) {
    start(out);
  } else if (const auto* done = std::get_if<input::StepDone>(&input)) {
    step_done(done->report, now, out);
  } else if (const auto* stop = std::get_if<input::Stop>(&input)) {
    stop_reason_ = stop->reason;
  }
}

// For the first time, or again from a checkpoint.
void Local::start(Actions& out) {
  const std::uint64_t budget = settings_.epochs * settings_.steps_per_epoch;
  out.push_back(action::Record{joined_event(
      settings_.incarnation, counters_.steps > 0 ? "resumed" : "start", counters_.steps, budget)});
  done_ = false;
  stop_reason_.reset();
  if (counters_.steps >= budget) return finish("finished", true, out);
  out.push_back(action::Train{});
}

void Local::step_done(const StepReport& report, Time now, Actions& out) {
  ++counters_.steps;
  counters_.samples += report.samples;
  log_.add(report);
  const bool finite = std::isfinite(report.loss);
  const bool last = counters_.steps == settings_.epochs * settings_.steps_per_epoch;
  if (!finite || stop_reason_ || counters_.steps % settings_.steps_per_epoch == 0) {
    out.push_back(action::Record{log_.take(counters_.samples, now)});
  }
  if (!finite) {
    out.push_back(action::Record{fault_event("loss not finite", settings_.self,
                                             "loss " + std::to_string(report.loss) + " at step " +
                                                 std::to_string(counters_.steps) + ", lr " +
                                                 std::to_string(report.lr),
                                             "stops training")});
    return finish("diverged", false, out);
  }
  if (stop_reason_) return finish(*stop_reason_, true, out);
  if (last) return finish("finished", true, out);
  out.push_back(action::Train{});
}

void Local::state(Archive& archive) {
  archive("counters", counters_)("log", log_)("stop", stop_reason_)("done", done_);
}

void Local::finish(const std::string& reason, bool alive, Actions& out) {
  counters_.longest_gap_samples = counters_.samples;
  Event left("peer.left");
  out.push_back(action::Record{std::move(left.add("reason", reason))});
  out.push_back(action::Finish{reason, alive});
  done_ = true;
}

}  // namespace hearsay::gossip
