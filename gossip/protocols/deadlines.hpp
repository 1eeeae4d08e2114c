// SPDX-License-Identifier: Apache-2.0
// How long a partner may take, learnt from how long it took: mean and deviation of its answers as
// TCP's retransmission timer keeps them (Jacobson 1988, "Congestion avoidance and control"), a
// partner never met before by the pool's. Two limits: `quiet`, for which nothing may move between
// the two, and `most`, for an exchange in which something does. Pure arithmetic. Cost: 40 bytes a
// partner met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "gossip/protocol.hpp"

namespace hearsay::gossip {

class Deadlines {
 public:
  // `own_step`: how long a mini-batch takes here; partners answer between two of theirs.
  Time quiet(PeerId partner, Time own_step) const;
  Time most(PeerId partner, Time own_step) const;
  // When an answer is late enough for another merge to go first, if nothing moves: twice what the
  // newest answers took, whoever gave them. Their median, as some are late on a network that loses
  // messages. Soon, as a late answer is still welcome, so that a lost one costs few merges; and
  // twice as late after every one but the first two in a row, until one comes from anybody: on a
  // link that is slower than was thought, every further exchange makes all of them later.
  Time overdue(Time own_step) const;

  void answered(PeerId partner, Time took);
  void refused(PeerId partner);  // it is there; a refusal says little of how long weights take
  void was_overdue() { ++overdue_in_a_row_; }
  void stayed_quiet(PeerId partner);  // its next limit is twice as long, until it answers
  void was_too_slow(PeerId partner);  // the same for `most`
  void state(Archive& a) {
    a("by_partner", by_partner_)("pool", pool_)("recent", recent_);
    a("overdue_in_a_row", overdue_in_a_row_);
    if (recent_.size() > kRecent) a.fail("recent", "more than there may be");
  }

 private:
  static constexpr std::size_t kRecent = 15;

  struct Estimate {
    Time mean{0}, deviation{0};         // of answers; mean 0: none yet
    std::uint32_t quiet = 0, slow = 0;  // misses in a row
    void add(Time took);
    Time limit() const { return mean + 4 * deviation; }
    void state(Archive& a) {
      a("mean", mean)("deviation", deviation)("quiet", quiet)("slow", slow);
    }
  };
  std::map<PeerId, Estimate> by_partner_;
  Estimate pool_;
  std::deque<Time> recent_;  // answers, newest last
  std::uint32_t overdue_in_a_row_ = 0;
};

}  // namespace hearsay::gossip
