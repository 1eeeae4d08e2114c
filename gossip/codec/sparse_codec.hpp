// SPDX-License-Identifier: Apache-2.0
// Messages that say some of the weights: all of small tensors, and of the large ones those that a
// Support chooses. `published` is what a partner that had heard everything would hold: the decoded
// values. Weights minus published is the memory of what has not been said, rounding included, so
// that it is said later (error feedback: Stich et al. 2018, "Sparsified SGD with memory").
// With quantisation momentum what is said is on its way to the weights only (smoothing.hpp), and
// `published` may be what has entered the filter.
// Mirrored: an answer speaks of the weights of the message that it answers, and names them by that
// message (mirror_book.hpp). Compute lane of one peer.
// Cost: that of the choice, 8 B a weight of memory, 12 B an entry.
#pragma once

#include "gossip/codec/codec.hpp"
#include "gossip/codec/ground.hpp"
#include "gossip/codec/mirror_book.hpp"
#include "gossip/codec/smoothing.hpp"
#include "gossip/codec/support.hpp"
#include "kernels/core/buffer.hpp"

namespace hearsay::gossip {

class SparseCodec : public Codec {
 public:
  SparseCodec(CodecGroundRef ground, std::unique_ptr<Support> support,
              const SmoothingRule& smoothing, bool is_mirrored, kernels::PeerId self);

  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const final;
  bool mirrors() const final { return is_mirrored_; }
  void forget() override;
  void state(Archive& archive) override;

  std::span<const float> published() const { return published_.span(); }
  static std::size_t most_bytes(const CodecGround& ground, const Support& support);

 protected:
  void keep(double share) { support_->keep(share); }

 private:
  using Numbers = std::vector<std::uint32_t>;

  bool mirror(const merge::Packed& like, PackedBytes& bytes, Numbers& at);
  void choose(std::span<const float> weights, PackedBytes& bytes, Numbers& at);
  void add_tails(std::span<const float> weights, PackedBytes& bytes, Numbers& at);
  void enter(std::span<const float> weights, std::span<const std::uint32_t> offsets);
  void say(std::span<const float> weights, std::span<const std::uint32_t> offsets,
           std::uint64_t first, PackedBytes& bytes);
  std::string read_where(PackedReader& reader, Numbers& at) const;
  void hear(std::span<const std::uint32_t> offsets, PackedView section, std::span<float> in) const;

  CodecGroundRef ground_;
  std::unique_ptr<Support> support_;
  bool is_mirrored_;
  std::uint64_t key_;                 // of this peer's random rounding
  std::uint64_t said_ = 0;            // messages
  kernels::Buffer<float> published_;  // [weights]
  std::optional<Smoothing> smoothing_;
  MirrorBook book_;
};

}  // namespace hearsay::gossip
