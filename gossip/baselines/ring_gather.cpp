// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/ring_gather.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gossip/baselines/ring_all_reduce.hpp"
#include "kernels/core/check.hpp"
#include "kernels/ops/merge_ops.hpp"

namespace hearsay::gossip {
namespace {

void fit(kernels::Buffer<float>& buffer, std::size_t size) {
  if (buffer.size() == size) return;
  buffer = kernels::Buffer<float>(size);
  std::fill_n(buffer.data(), size, 0.0f);
}

}  // namespace

std::unique_ptr<AllReduce> make_all_reduce(PeerId self, std::uint32_t peers,
                                           const ReduceSettings& settings) {
  if (settings.codec) return std::make_unique<RingGather>(self, peers, settings);
  return std::make_unique<RingAllReduce>(self, peers);
}

RingGather::RingGather(PeerId self, std::uint32_t peers, const ReduceSettings& settings)
    : self_(self),
      peers_(peers),
      codec_(settings.codec->make(self)),
      memory_(settings.feedback, peers),
      parts_(peers) {}

void RingGather::begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel&,
                       Actions& out) {
  round_ = round;
  hops_ = 0;
  is_reducing_ = true;
  for (Part& part : parts_) part = {};
  fit(zeros_, values.size());
  fit(decoded_, values.size());
  codec_->forget();  // each message is said for itself
  const std::span<const float> p = memory_.to_say(values, own.weight);
  Sum mine = own;  // what is not finite is no codec's to say, and would stay in the memory
  if (!std::isfinite(kernels::squared_distance(p, {})))
    mine.weight = std::numeric_limits<double>::quiet_NaN();
  merge::PackedRef message = codec_->encode(p, nullptr);
  const Unpacked said = codec_->decode(*message, zeros_.span(), decoded_.span());
  HS_CHECK(said.fault.empty());  // a codec reads what it has written
  memory_.said(decoded_.span());
  parts_[self_.value] = {std::move(message), mine};
  if (peers_ > 1) send(self_.value, out);
}

void RingGather::send(std::uint32_t of, Actions& out) {
  Frame frame;
  frame.kind = FrameKind::chunk;
  frame.from = self_;
  frame.to = next();
  frame.seq = round_;
  frame.slice = of;
  frame.mass = parts_[of].sum.weight;
  frame.converged = parts_[of].sum.stop;
  frame.packed = parts_[of].message;
  out.push_back(action::Send{std::move(frame)});
}

void RingGather::receive(const Frame& frame, Actions& out) {
  if (frame.kind != FrameKind::chunk || frame.from != previous() || is_broken_) return;
  // In a round the peer before this one sends n - 1 messages, and it ends the next round only with
  // this one's help: more than those of two never wait.
  if (waiting_.size() >= 2 * (peers_ - 1))
    return break_off(frame.from, "more messages came than a step has", out);
  waiting_.push_back(frame);
}

bool RingGather::advance(std::span<float> values, LocalModel&, Actions& out) {
  // TCP and the simulated network keep a link's order, so the first in line is the next one due.
  while (is_reducing_ && hops_ + 1 < peers_ && !waiting_.empty()) {
    const Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    take(frame, out);
  }
  return is_reducing_ && hops_ + 1 == peers_ && add_up(values, out);
}

void RingGather::take(const Frame& frame, Actions& out) {
  const std::uint32_t due = (self_.value + 2 * peers_ - 1 - hops_) % peers_;
  if (frame.seq != round_ || frame.slice != due || !frame.packed) {
    return break_off(frame.from,
                     "message " + std::to_string(frame.slice) + " of step " +
                         std::to_string(frame.seq) + " came, " + std::to_string(due) + " of " +
                         std::to_string(round_) + " was due",
                     out);
  }
  parts_[due] = {frame.packed, {frame.mass, frame.converged}};
  ++hops_;
  if (hops_ + 1 < peers_) send(due, out);
}

bool RingGather::add_up(std::span<float> values, Actions& out) {
  fit(zeros_, values.size());
  fit(decoded_, values.size());
  // Into `values`, so that nothing is kept of a round that cannot be read to its end.
  const bool goes_on = memory_.says_changes() && sum_.size() == values.size();
  std::copy_n((goes_on ? sum_ : zeros_).data(), values.size(), values.begin());
  total_ = {};
  for (std::uint32_t of = 0; of < peers_; ++of) {
    const Unpacked said = codec_->decode(*parts_[of].message, zeros_.span(), decoded_.span());
    if (!said.fault.empty()) {
      break_off(previous(), "message of " + peer_name(PeerId(of)) + ": " + said.fault, out);
      return false;
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += decoded_.data()[i];
    total_.weight += parts_[of].sum.weight;
    total_.stop = total_.stop || parts_[of].sum.stop;
  }
  if (memory_.says_changes()) {
    fit(sum_, values.size());
    std::copy(values.begin(), values.end(), sum_.data());
  }
  memory_.keep();
  for (Part& part : parts_) part = {};
  is_reducing_ = false;
  return true;
}

void RingGather::begin_again(bool drop_waiting) {
  if (drop_waiting) waiting_.clear();
  hops_ = 0;
  is_reducing_ = is_broken_ = false;
}

void RingGather::break_off(PeerId from, const std::string& why, Actions& out) {
  out.push_back(
      action::Record{fault_event("message lost", from, why, "ends, as no sum can be made")});
  waiting_.clear();
  is_reducing_ = false;
  is_broken_ = true;
}

void RingGather::state(Archive& a) {
  a("waiting", waiting_)("parts", parts_)("hops", hops_)("reducing", is_reducing_);
  a("broken", is_broken_)("round", round_)("total", total_)("codec", *codec_)("memory", memory_);
  a.array("sum", sum_);
  if (waiting_.size() > 2 * (peers_ - 1)) a.fail("waiting", "is more than can wait");
  if (parts_.size() != peers_ || hops_ >= std::max(peers_, 1u))
    a.fail("parts", "are not one a peer");
  for (std::uint32_t i = 0; is_reducing_ && i < hops_ + 1; ++i) {
    if (!parts_[(self_.value + 2 * peers_ - i) % peers_].message) a.fail("parts", "lack a message");
  }
}

}  // namespace hearsay::gossip
