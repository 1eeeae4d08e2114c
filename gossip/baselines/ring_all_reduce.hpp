// SPDX-License-Identifier: Apache-2.0
// Sums a buffer over all peers along a ring (Patarasuk & Yuan 2009): the part of a synchronous
// baseline that talks. Communication: 2 (n - 1) messages and 8 N (n - 1) / n bytes sent per peer
// and round. Sums run along the ring in a fixed order and the finished slices are passed on
// unchanged: all peers hold the same bits after every round.
// A slice that is not the one due breaks the ring: it adds up no more, and keeps nothing.
// Compute lane of one peer. At most 2 (n - 1) frames wait.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>

#include "gossip/protocol.hpp"

namespace hearsay::gossip {

class RingAllReduce {
 public:
  // What is summed beside the values.
  struct Sum {
    double weight = 0.0;  // NaN from one is NaN for all
    bool stop = false;    // someone wants to stop after this round
    void state(Archive& a) { a("weight", weight)("stop", stop); }
  };

  RingAllReduce(PeerId self, std::uint32_t peers) : self_(self), peers_(peers) {}

  // This peer's part of round `round` is ready; in a pool of one it is also the sum. `values` stay
  // where they are until the round is over.
  void begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel& model,
             Actions& out);
  // Keeps a slice from the peer before this one until it is due; all other frames are nothing.
  void receive(const Frame& frame, Actions& out);
  // Works off what has come. True when the round is over: `values` and total() are the sums.
  bool advance(std::span<float> values, LocalModel& model, Actions& out);

  const Sum& total() const { return total_; }
  bool is_reducing() const { return is_reducing_; }
  bool is_broken() const { return is_broken_; }
  // Whether a slice that waits for this peer's part says that its sender wants to stop.
  bool is_asked_to_stop() const;
  // From a checkpoint: what was on its way is gone.
  void begin_again(bool drop_waiting);
  void state(Archive& a) {
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
