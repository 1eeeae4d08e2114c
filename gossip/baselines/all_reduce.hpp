// SPDX-License-Identifier: Apache-2.0
// Sums a buffer over all peers of a ring, round after round: the part of a synchronous baseline
// that talks. All peers hold the same bits after every round. What is here is how parts come: each
// from the peer before this one, in order; one that is not due breaks the ring, which then adds up
// no more, and keeps nothing. Compute lane of one peer. At most 2 (n - 1) frames wait.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gossip/baselines/error_memory.hpp"
#include "gossip/codec/codec.hpp"
#include "gossip/protocol.hpp"

namespace hearsay::gossip {

// Whole values along a ring, or messages of a codec round it.
struct ReduceSettings {
  std::shared_ptr<const CodecPlan> codec;  // null: whole. Its start is zero everywhere
  FeedbackSettings feedback;               // with a codec
};

class AllReduce {
 public:
  AllReduce(PeerId self, std::uint32_t peers) : self_(self), peers_(peers) {}
  virtual ~AllReduce() = default;

  // What is summed beside the values.
  struct Sum {
    double weight = 0.0;  // NaN from one is NaN for all
    bool stop = false;    // someone wants to stop after this round
    void state(Archive& a) { a("weight", weight)("stop", stop); }
  };

  // This peer's part of round `round` is ready; in a pool of one it is also the sum. `values` stay
  // where they are until the round is over.
  virtual void begin(std::uint64_t round, const Sum& own, std::span<float> values,
                     LocalModel& model, Actions& out) = 0;
  // Keeps a part from the peer before this one until it is due; all other frames are nothing.
  void receive(const Frame& frame, Actions& out);
  // Works off what has come. True when the round is over: `values` and total() are the sums.
  virtual bool advance(std::span<float> values, LocalModel& model, Actions& out) = 0;

  const Sum& total() const { return total_; }
  bool is_reducing() const { return is_reducing_; }
  bool is_broken() const { return is_broken_; }
  // From a checkpoint: what was on its way is gone.
  void begin_again(bool drop_waiting);
  virtual void state(Archive& a);

 protected:
  void open(std::uint64_t round);
  std::optional<Frame> take_waiting();  // the first in line, while the round is on
  // The slice, or the peer whose message it is, that has to come now.
  std::uint32_t due() const { return (self_.value + 2 * peers_ - 1 - hops_) % peers_; }
  Frame part(std::uint32_t slice, const Sum& sum) const;  // for the next peer, empty yet
  void break_off(PeerId from, const std::string& why, Actions& out);
  PeerId next() const { return PeerId((self_.value + 1) % peers_); }
  PeerId previous() const { return PeerId((self_.value + peers_ - 1) % peers_); }

  PeerId self_;
  std::uint32_t peers_;
  std::uint64_t round_ = 0;
  std::uint32_t hops_ = 0;  // parts taken in this round
  bool is_reducing_ = false;
  Sum total_;

 private:
  std::deque<Frame> waiting_;  // parts that came before they were due
  bool is_broken_ = false;
};

std::unique_ptr<AllReduce> make_all_reduce(PeerId self, std::uint32_t peers,
                                           const ReduceSettings& settings);

}  // namespace hearsay::gossip
