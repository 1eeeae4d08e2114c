// SPDX-License-Identifier: Apache-2.0
// block.finished lines for protocols without merges: one a local epoch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gossip/protocol.hpp"

namespace hearsay::gossip {

class EpochLog {
 public:
  void add(const StepReport& report) {
    ++steps_;
    samples_ += report.samples;
    correct_ += report.correct;
    loss_sum_ += report.loss * report.samples;
  }
  // The line for what has been added since the last call.
  Event take(std::uint64_t total_samples, Time now) {
    const double n = static_cast<double>(std::max<std::uint64_t>(1, samples_));
    Event event("block.finished");
    event.add("samples", static_cast<std::int64_t>(total_samples))
        .add("steps", static_cast<std::int64_t>(steps_));
    event.add("loss", loss_sum_ / n).add("acc", static_cast<double>(correct_) / n);
    event.add("step_ns", (now - started_).count() /
                             std::max<std::int64_t>(1, static_cast<std::int64_t>(steps_)));
    *this = EpochLog{};
    started_ = now;
    return event;
  }
  void state(Archive& a) {
    a("steps", steps_)("samples", samples_)("correct", correct_)("loss_sum", loss_sum_);
    a("started", started_);
  }

 private:
  std::uint64_t steps_ = 0, samples_ = 0, correct_ = 0;
  double loss_sum_ = 0.0;
  Time started_{0};
};

}  // namespace hearsay::gossip
