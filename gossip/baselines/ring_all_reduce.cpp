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
  open(round);
  own_ = total_ = own;
  if (peers_ > 1) send_slice(self_.value, own, values, model, out);
}

bool RingAllReduce::advance(std::span<float> values, LocalModel& model, Actions& out) {
  if (is_reducing_ && peers_ == 1) {
    is_reducing_ = false;
    return true;
  }
  while (const auto frame = take_waiting()) {
    if (take_slice(*frame, values, model, out)) return true;
  }
  return false;
}

void RingAllReduce::send_slice(std::uint32_t slice, const Sum& sum, std::span<float> values,
                               LocalModel& model, Actions& out) {
  const Range range = slice_range(values.size(), peers_, slice);
  Frame frame = part(slice, sum);
  frame.values = model.copy(values.subspan(range.begin, range.end - range.begin));
  out.push_back(action::Send{std::move(frame)});
}

void RingAllReduce::state(Archive& a) {
  AllReduce::state(a);
  a("own", own_);
}

bool RingAllReduce::take_slice(const Frame& frame, std::span<float> values, LocalModel& model,
                               Actions& out) {
  const std::uint32_t n = peers_;
  const Range range = slice_range(values.size(), n, due());
  const auto own = values.subspan(range.begin, range.end - range.begin);
  // More peers than values: some slices are empty, and travel as frames without values.
  const auto in = frame.values ? frame.values->span() : std::span<const float>{};
  // A slice before this one was lost, or this is none: the ring cannot go on.
  if (frame.seq != round_ || frame.slice != due() || in.size() != own.size()) {
    break_off(frame.from,
              "slice " + std::to_string(frame.slice) + " of step " + std::to_string(frame.seq) +
                  " with " + std::to_string(in.size()) + " values came, " + std::to_string(due()) +
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
