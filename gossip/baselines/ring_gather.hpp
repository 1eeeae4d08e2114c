// SPDX-License-Identifier: Apache-2.0
// A sum in a codec: each peer's message goes once round the ring as it is, everybody decodes all of
// them and adds them up in the order of the peers. Messages that name positions cannot be added on
// the way without growing, and rounding sums again would lose more. What a message leaves out is
// kept for later ones (error_memory.hpp). Communication: n - 1 messages a peer and round.
// At most 2 (n - 1) frames wait. Cost: a decoding and a pass over the model for each peer and
// round.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gossip/baselines/all_reduce.hpp"

namespace hearsay::gossip {

class RingGather final : public AllReduce {
 public:
  RingGather(PeerId self, std::uint32_t peers, const ReduceSettings& settings);

  void begin(std::uint64_t round, const Sum& own, std::span<float> values, LocalModel& model,
             Actions& out) override;
  void receive(const Frame& frame, Actions& out) override;
  bool advance(std::span<float> values, LocalModel& model, Actions& out) override;
  const Sum& total() const override { return total_; }
  bool is_reducing() const override { return is_reducing_; }
  bool is_broken() const override { return is_broken_; }
  void begin_again(bool drop_waiting) override;
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
  void break_off(PeerId from, const std::string& why, Actions& out);
  PeerId next() const { return PeerId((self_.value + 1) % peers_); }
  PeerId previous() const { return PeerId((self_.value + peers_ - 1) % peers_); }

  PeerId self_;
  std::uint32_t peers_;
  std::unique_ptr<Codec> codec_;
  ErrorMemory memory_;
  std::deque<Frame> waiting_;  // messages that came before the own part was ready
  std::vector<Part> parts_;    // [peer] of this round
  std::uint64_t round_ = 0;
  std::uint32_t hops_ = 0;  // messages received in this round
  bool is_reducing_ = false, is_broken_ = false;
  Sum total_;
  kernels::Buffer<float> sum_;              // [weights] ef21: of what all have said of theirs
  kernels::Buffer<float> zeros_, decoded_;  // [weights]
};

}  // namespace hearsay::gossip
