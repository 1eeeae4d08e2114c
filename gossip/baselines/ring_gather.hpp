// SPDX-License-Identifier: Apache-2.0
// A sum in a codec: each peer's message goes once round the ring as it is, everybody decodes all of
// them and adds them up in the order of the peers. Messages that name positions cannot be added on
// the way without growing, and rounding sums again would lose more. What a message leaves out is
// kept for later ones (error_memory.hpp). Communication: n - 1 messages a peer and round.
// Cost: a decoding and a pass over the model for each peer and round.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gossip/baselines/all_reduce.hpp"

namespace hearsay::gossip {

class RingGather final : public AllReduce {
 public:
  RingGather(PeerId self, std::uint32_t peers, const ReduceSettings& settings);

  void begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel& model,
             Actions& out) override;
  bool advance(std::span<float> values, LocalModel& model, Actions& out) override;
  void state(Archive& a) override;

  const ErrorMemory& memory() const { return memory_; }

 private:
  struct Part {
    merge::PackedRef message;  // null: has not come
    Sum sum;
    void state(Archive& a) { a("message", message)("sum", sum); }
  };

  void send(std::uint32_t of, Actions& out);
  void take(const Frame& frame, Actions& out);
  bool add_up(std::span<float> values, Actions& out);

  std::unique_ptr<Codec> codec_;
  ErrorMemory memory_;
  std::vector<Part> parts_;                 // [peer] of this round
  kernels::Buffer<float> sum_;              // [weights] ef21: of what all have said of theirs
  kernels::Buffer<float> zeros_, decoded_;  // [weights]
};

}  // namespace hearsay::gossip
