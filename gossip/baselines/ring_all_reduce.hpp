// SPDX-License-Identifier: Apache-2.0
// Sums a buffer over all peers along a ring (Patarasuk & Yuan 2009). Communication: 2 (n - 1)
// messages and 8 N (n - 1) / n bytes sent per peer and round. Sums run along the ring in a fixed
// order and the finished slices are passed on unchanged. At most 2 (n - 1) frames wait.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "gossip/baselines/all_reduce.hpp"

namespace hearsay::gossip {

class RingAllReduce final : public AllReduce {
 public:
  RingAllReduce(PeerId self, std::uint32_t peers) : self_(self), peers_(peers) {}

  void begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel& model,
             Actions& out) override;
  void receive(const Frame& frame, Actions& out) override;
  bool advance(std::span<float> values, LocalModel& model, Actions& out) override;
  const Sum& total() const override { return total_; }
  bool is_reducing() const override { return is_reducing_; }
  bool is_broken() const override { return is_broken_; }
  void begin_again(bool drop_waiting) override;
  void state(Archive& a) override {
    a("waiting", waiting_)("hops", hops_)("reducing", is_reducing_)("broken", is_broken_);
    a("round", round_)("own", own_)("total", total_);
  }

  // Values [begin, end) of slice `slice` when `size` values are cut into `peers` slices.
  struct Range {
    std::size_t begin, end;
  };
  static Range slice_range(std::size_t size, std::uint32_t peers, std::uint32_t slice);

 private:
  void send_slice(std::uint32_t slice, const Sum& sum, std::span<float> values, LocalModel& model,
                  Actions& out);
  bool take_slice(const Frame& frame, std::span<float> values, LocalModel& model, Actions& out);
  void break_off(const Frame& frame, const std::string& why, Actions& out);
  PeerId next() const { return PeerId((self_.value + 1) % peers_); }
  PeerId previous() const { return PeerId((self_.value + peers_ - 1) % peers_); }

  PeerId self_;
  std::uint32_t peers_;
  std::deque<Frame> waiting_;  // slices that came before the own part was ready
  std::uint64_t round_ = 0;
  std::uint32_t hops_ = 0;  // slices received in this round
  bool is_reducing_ = false, is_broken_ = false;
  Sum own_, total_;
};

}  // namespace hearsay::gossip
