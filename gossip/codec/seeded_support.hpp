// SPDX-License-Identifier: Apache-2.0
// Weights that a seed in the message names, without a byte for their positions. Chosen blindly:
// what matters most waits for its turn as long as anything else. Compute lane of one peer.
#pragma once

#include "gossip/codec/support.hpp"
#include "kernels/core/strong_id.hpp"

namespace hearsay::gossip {

// `share` of the weights, every set of them equally likely and independent of the last message
// (Floyd's sampling without replacement: Bentley and Floyd 1987, "A sample of brilliance").
// Cost: a random number an entry, a bit a weight.
class RandomSupport final : public Support {
 public:
  RandomSupport(double share, const Places& places, std::uint64_t seed, kernels::PeerId self);

  PackedForm form() const override { return PackedForm::random; }
  void choose(std::span<const float> weights, std::span<float> published, PackedBytes& where,
              std::vector<std::uint32_t>& at) override;
  std::string read(PackedReader& in, std::vector<std::uint32_t>& at) const override;
  std::size_t most_entries() const override { return count_; }
  std::size_t most_where_bytes() const override { return 8; }
  void state(Archive& archive) override { archive("chosen", chosen_); }

 private:
  std::size_t weights_, count_;
  std::uint64_t seed_;
  kernels::PeerId self_;
  std::uint64_t chosen_ = 0;  // messages so far
};

// Aligned blocks of `size` consecutive weights. A round is a random order of all blocks (Fisher
// and Yates), cut into parts that differ by at most one block; a message says the next part, so
// that in a round each block is said once. The message names the order's seed and the part.
// Cost: a random number a block of the model, to encode and to decode.
class BlockSupport final : public Support {
 public:
  BlockSupport(double share, std::size_t size, const Places& places, std::uint64_t seed,
               kernels::PeerId self);

  PackedForm form() const override { return PackedForm::blocks; }
  void choose(std::span<const float> weights, std::span<float> published, PackedBytes& where,
              std::vector<std::uint32_t>& at) override;
  std::string read(PackedReader& in, std::vector<std::uint32_t>& at) const override;
  std::size_t most_entries() const override;
  std::size_t most_where_bytes() const override { return 12; }
  void state(Archive& archive) override { archive("chosen", chosen_); }

 private:
  void blocks_of(std::uint64_t order, std::size_t part, std::vector<std::uint32_t>& at) const;

  std::size_t weights_, size_, blocks_, parts_;
  std::uint64_t seed_;
  kernels::PeerId self_;
  std::uint64_t chosen_ = 0;  // messages so far: round and part
};

}  // namespace hearsay::gossip
