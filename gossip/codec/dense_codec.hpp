// SPDX-License-Identifier: Apache-2.0
// Messages that say every weight: head, then one section of values. Nothing is left out, so
// nothing needs to be remembered; with an error memory, what rounding left unsaid is added to what
// is said next (Seide et al. 2014, "1-bit stochastic gradient descent"), so that the mean over
// messages is the weight. Compute lane of one peer. Cost: one pass, the bytes of the message; with
// the memory 4 B a weight more.
#pragma once

#include "gossip/codec/codec.hpp"
#include "gossip/codec/ground.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

class DenseCodec final : public Codec {
 public:
  DenseCodec(CodecGroundRef ground, bool keeps_error, kernels::PeerId self);

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const override;
  bool mirrors() const override { return true; }
  void forget() override;
  void state(Archive& archive) override;

  static std::size_t message_bytes(const CodecGround& ground);

 private:
  CodecGroundRef ground_;
  std::uint64_t key_;             // of this peer's random rounding
  std::uint64_t said_ = 0;        // messages
  kernels::Buffer<float> error_;  // empty without memory
};

}  // namespace hearsay::gossip
