// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/all_reduce.hpp"

#include <utility>

#include "gossip/baselines/ring_all_reduce.hpp"
#include "gossip/baselines/ring_gather.hpp"

namespace hearsay::gossip {

std::unique_ptr<AllReduce> make_all_reduce(PeerId self, std::uint32_t peers,
                                           const ReduceSettings& settings) {
  if (settings.codec) return std::make_unique<RingGather>(self, peers, settings);
  return std::make_unique<RingAllReduce>(self, peers);
}

void AllReduce::receive(const Frame& frame, Actions& out) {
  if (frame.kind != FrameKind::chunk || frame.from != previous() || is_broken_) return;
  // In a round the peer before this one sends 2 (n - 1) parts at most, and it enters the next round
  // only with this one's help: more than that never waits.
  if (waiting_.size() >= 2 * (peers_ - 1))
    return break_off(frame.from, "more parts came than a step has", out);
  waiting_.push_back(frame);
}

void AllReduce::open(std::uint64_t round) {
  round_ = round;
  hops_ = 0;
  is_reducing_ = true;
}

// TCP and the simulated network keep a link's order, so the first frame in line is the next one
// due.
std::optional<Frame> AllReduce::take_waiting() {
  if (!is_reducing_ || waiting_.empty()) return std::nullopt;
  std::optional<Frame> frame = std::move(waiting_.front());
  waiting_.pop_front();
  return frame;
}

Frame AllReduce::part(std::uint32_t slice, const Sum& sum) const {
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = self_;
  frame.to = next();
  frame.seq = round_;
  frame.slice = slice;
  frame.mass = sum.weight;
  frame.converged = sum.stop;
  return frame;
}

void AllReduce::begin_again(bool drop_waiting) {
  if (drop_waiting) waiting_.clear();
  hops_ = 0;
  is_reducing_ = is_broken_ = false;
}

void AllReduce::break_off(PeerId from, const std::string& why, Actions& out) {
  out.push_back(action::Record{fault_event("part lost", from, why, "ends, as no sum can be made")});
  waiting_.clear();
  is_reducing_ = false;
  is_broken_ = true;
}

void AllReduce::state(Archive& a) {
  a("waiting", waiting_)("hops", hops_)("reducing", is_reducing_)("broken", is_broken_);
  a("round", round_)("total", total_);
  if (waiting_.size() > 2 * (peers_ - 1)) a.fail("waiting", "is more than can wait");
}

}  // namespace hearsay::gossip
