// SPDX-License-Identifier: Apache-2.0
// How long a partner may take, learnt from how long it took: mean and deviation of its answers as
// TCP's retransmission timer keeps them (Jacobson 1988, "Congestion avoidance and control"), a
// partner never met before by the pool's. Two limits: `quiet`, for which nothing may move between
// the two, and `most`, for an exchange in which something does. Pure arithmetic. Cost: 40 bytes a
// partner met.
#pragma once

#include <cstdint>
#include <map>

#include "gossip/protocol.hpp"

namespace hearsay::gossip {

class Deadlines {
 public:
  // `own_step`: how long a mini-batch takes here; partners answer between two of theirs.
  Time quiet(PeerId partner, Time own_step) const;
  Time most(PeerId partner, Time own_step) const;
  // When an answer is late enough for another merge to go first, if nothing moves: twice what
  // answers take. Soon, as a late answer is still welcome, so that a lost one costs few merges.
  Time overdue(PeerId partner, Time own_step) const;

  void answered(PeerId partner, Time took);
  void stayed_quiet(PeerId partner);  // its next limit is twice as long, until it answers
  void was_too_slow(PeerId partner);  // the same for `most`
  void state(Archive& a) { a("by_partner", by_partner_)("pool", pool_); }

 private:
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
};

}  // namespace hearsay::gossip
