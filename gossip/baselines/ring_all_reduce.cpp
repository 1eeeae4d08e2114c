// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/ring_all_reduce.hpp"

#include <algorithm>
#include <utility>

namespace hearsay::gossip {

RingAllReduce::Range RingAllReduce::slice_range(std::size_t size, std::uint32_t peers,
                                                std::uint32_t slice) {
  return {size * slice / peers, size * (slice + 1) / peers};
}

void RingAllReduce::begin(std::uint64_t round, const Sum& own, std::span<float> values,
                          LocalModel& model, Actions& out) {
  round_ = round;
  own_ = total_ = own;
  hops_ = 0;
  is_reducing_ = true;
  if (peers_ > 1) send_slice(self_.value, own, values, model, out);
}

void RingAllReduce::receive(const Frame& frame, Actions& out) {
  if (frame.kind != FrameKind::chunk || frame.from != previous() || is_broken_) return;
  // In a round the peer before this one sends 2 (n - 1) slices, and it enters the next round only
  // with this one's help: more than that never waits.
  if (waiting_.size() >= 2 * (peers_ - 1))
    return break_off(frame, "more slices came than a step has", out);
  waiting_.push_back(frame);
}

bool RingAllReduce::advance(std::span<float> values, LocalModel& model, Actions& out) {
  if (is_reducing_ && peers_ == 1) {
    is_reducing_ = false;
    return true;
  }
  // TCP and the simulated network keep a link's order, so the first frame in line is the next one
  // due.
  while (is_reducing_ && !waiting_.empty()) {
    const Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    if (take_slice(frame, values, model, out)) return true;
  }
  return false;
}

void RingAllReduce::begin_again(bool drop_waiting) {
  if (drop_waiting) waiting_.clear();
  hops_ = 0;
  is_reducing_ = is_broken_ = false;
}

void RingAllReduce::send_slice(std::uint32_t slice, const Sum& sum, std::span<float> values,
                               LocalModel& model, Actions& out) {
  const Range range = slice_range(values.size(), peers_, slice);
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = self_;
  frame.to = next();
  frame.seq = round_;
  frame.slice = slice;
  frame.mass = sum.weight;
  frame.converged = sum.stop;
  frame.values = model.copy(values.subspan(range.begin, range.end - range.begin));
  out.push_back(action::Send{std::move(frame)});
}

void RingAllReduce::break_off(const Frame& frame, const std::string& why, Actions& out) {
  out.push_back(
      action::Record{fault_event("slice lost", frame.from, why, "ends, as no sum can be made")});
  waiting_.clear();
  is_reducing_ = false;
  is_broken_ = true;
}

bool RingAllReduce::take_slice(const Frame& frame, std::span<float> values, LocalModel& model,
                               Actions& out) {
  const std::uint32_t n = peers_;
  const std::uint32_t due = (self_.value + 2 * n - 1 - hops_) % n;
  const Range range = slice_range(values.size(), n, due);
  const auto own = values.subspan(range.begin, range.end - range.begin);
  // More peers than values: some slices are empty, and travel as frames without values.
  const auto in = frame.values ? frame.values->span() : std::span<const float>{};
  // A slice before this one was lost, or this is none: the ring cannot go on.
  if (frame.seq != round_ || frame.slice != due || in.size() != own.size()) {
    break_off(frame,
              "slice " + std::to_string(frame.slice) + " of step " + std::to_string(frame.seq) +
                  " with " + std::to_string(in.size()) + " values came, " + std::to_string(due) +
                  " of " + std::to_string(round_) + " with " + std::to_string(own.size()) +
                  " was due",
              out);
    return false;
  }
  Sum sum{frame.mass, frame.converged};
  const bool summing =
      hops_ < n - 1;  // first n - 1 hops add up, the next n - 1 hand round the sums
  if (summing) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = in[i] + own[i];
    sum.weight += own_.weight;
    sum.stop = sum.stop || own_.stop;
  } else {
    std::copy(in.begin(), in.end(), own.begin());
  }
  if (++hops_ >= n - 1) total_ = sum;
  if (hops_ < 2 * (n - 1)) {
    send_slice(frame.slice, sum, values, model, out);
    return false;
  }
  is_reducing_ = false;
  return true;
}

}  // namespace hearsay::gossip
