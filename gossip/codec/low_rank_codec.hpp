// SPDX-License-Identifier: Apache-2.0
// Messages that say of each weight matrix what it is along a few directions, and all of the rest
// (tensors that are small, or of one dimension, or not worth it). `published` is what a partner
// that had heard everything would hold. The directions P are those in which w - published is
// largest, by one step of power iteration a message from where the last one ended (PowerSGD's warm
// start; the first from the run's seed, the same at all peers); what lies across them stays in w -
// published and is said later. A message says P^T (w - start), an absolute value along P, so that
// any peer may hear any of them, once, twice or never: a partner replaces what it holds along P and
// keeps the rest. An answer speaks along the P of the message that it answers: both sides move by P
// (P^T w_j - P^T w_i), the mean over the pair that PowerSGD takes over all. Compute lane of one
// peer. Cost: 8 B a weight of memory; 8 rank flop a weight a message.
#pragma once

#include "gossip/codec/codec.hpp"
#include "gossip/codec/ground.hpp"
#include "gossip/codec/low_rank_factors.hpp"
#include "gossip/codec/message.hpp"
#include "gossip/codec/mirror_book.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

// Which tensors are matrices of that rank; `dense`: offsets of all other weights, ascending.
struct LowRankSlots {
  LowRankSlots(const kernels::Layout& layout, std::size_t rank);
  std::vector<MatrixSlot> matrices;
  std::vector<std::uint32_t> dense;
  std::size_t direction_values = 0, coefficient_values = 0;  // of all matrices
};

class LowRankCodec final : public Codec {
 public:
  LowRankCodec(CodecGroundRef ground, std::shared_ptr<const LowRankSlots> slots);

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const override;
  bool mirrors() const override { return true; }
  void forget() override;
  void state(Archive& archive) override;

  std::span<const float> published() const { return published_.span(); }
  static std::size_t most_bytes(const LowRankSlots& slots);

 private:
  using Values = std::vector<float>;

  // The directions of a new message; the warm start moves on.
  Values choose(std::span<const float> finite);
  bool mirror(const merge::Packed& like, PackedBytes& bytes, Values& directions);
  void publish(std::span<const float> directions, std::span<const float> coefficients);
  std::string read_directions(PackedReader& reader, Values& directions) const;
  void seed_start();

  CodecGroundRef ground_;
  std::shared_ptr<const LowRankSlots> slots_;
  kernels::Buffer<float> published_;  // [weights]; of matrices alone
  kernels::Buffer<float> warm_;       // Q of each matrix, one after the other
  MirrorBook book_;
};

}  // namespace hearsay::gossip
