// SPDX-License-Identifier: Apache-2.0
#include "gossip/baselines/ring_gather.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

RingGather::RingGather(PeerId self, std::uint32_t peers, const ReduceSettings& settings)
    : AllReduce(self, peers),
      codec_(settings.codec->make(self)),
      memory_(settings.feedback, peers),
      parts_(peers) {}

void RingGather::begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel&,
                       Actions& out) {
  open(round);
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
  Frame frame = part(of, parts_[of].sum);
  frame.packed = parts_[of].message;
  out.push_back(action::Send{std::move(frame)});
}

bool RingGather::advance(std::span<float> values, LocalModel&, Actions& out) {
  while (hops_ + 1 < peers_) {
    const auto frame = take_waiting();
    if (!frame) return false;
    take(*frame, out);
  }
  return is_reducing_ && add_up(values, out);
}

void RingGather::take(const Frame& frame, Actions& out) {
  const std::uint32_t of = due();
  if (frame.seq != round_ || frame.slice != of || !frame.packed) {
    return break_off(frame.from,
                     "message " + std::to_string(frame.slice) + " of step " +
                         std::to_string(frame.seq) + " came, " + std::to_string(of) + " of " +
                         std::to_string(round_) + " was due",
                     out);
  }
  parts_[of] = {frame.packed, {frame.mass, frame.converged}};
  ++hops_;
  if (hops_ + 1 < peers_) send(of, out);
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

void RingGather::state(Archive& a) {
  AllReduce::state(a);
  a("parts", parts_)("codec", *codec_)("memory", memory_).array("sum", sum_);
  if (parts_.size() != peers_ || hops_ >= std::max(peers_, 1u))
    a.fail("parts", "are not one a peer");
  for (std::uint32_t i = 0; is_reducing_ && i < hops_ + 1; ++i) {
    if (!parts_[(self_.value + 2 * peers_ - i) % peers_].message) a.fail("parts", "lack a message");
  }
}

}  // namespace hearsay::gossip
