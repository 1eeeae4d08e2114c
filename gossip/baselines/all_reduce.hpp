// SPDX-License-Identifier: Apache-2.0
// Sums a buffer over all peers, round after round: the part of a synchronous baseline that talks.
// All peers hold the same bits after every round. A frame that is not the one due breaks it: it
// adds up no more, and keeps nothing. Compute lane of one peer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

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
  virtual void receive(const Frame& frame, Actions& out) = 0;
  // Works off what has come. True when the round is over: `values` and total() are the sums.
  virtual bool advance(std::span<float> values, LocalModel& model, Actions& out) = 0;

  virtual const Sum& total() const = 0;
  virtual bool is_reducing() const = 0;
  virtual bool is_broken() const = 0;
  // From a checkpoint: what was on its way is gone.
  virtual void begin_again(bool drop_waiting) = 0;
  virtual void state(Archive& a) = 0;
};

std::unique_ptr<AllReduce> make_all_reduce(PeerId self, std::uint32_t peers,
                                           const ReduceSettings& settings);

}  // namespace hearsay::gossip
