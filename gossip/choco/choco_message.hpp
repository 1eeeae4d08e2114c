// SPDX-License-Identifier: Apache-2.0
// What peers of --protocol choco tell their neighbours, as the bytes of a packed frame
// (gossip/codec/format.md): a head, then the difference between two versions of the sender's
// published copy in the pool's codec, or that copy whole. Little-endian hosts. Cost: O(1), and a
// copy of what follows the head.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "gossip/codec/codec.hpp"
#include "gossip/codec/message.hpp"

namespace hearsay::gossip {

struct ChocoHead {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kBytes = 25;

  bool is_whole = false;
  std::uint64_t version = 0;  // of the sender's copy, with what this message says
  std::uint64_t base = 0;     // digest of the version before; whole: of this one
  // The version of the receiver's copy towards which the sender has moved, by its new one; kNone:
  // it has moved nowhere.
  std::uint64_t heard = kNone;
};

PackedBytes choco_bytes(const ChocoHead& head, PackedView body);
// What follows the head is left in `reader`; nullopt: cut off, or of a kind that there is none of.
std::optional<ChocoHead> read_choco(PackedReader& reader);

// A pool's codec for differences: `inner` has all zeros as its start, so that nothing is taken
// relative to anything but the published copy.
class ChocoPlan final : public CodecPlan {
 public:
  ChocoPlan(std::shared_ptr<const CodecPlan> inner, std::size_t weights);
  std::unique_ptr<Codec> make(kernels::PeerId self) const override { return inner_->make(self); }
  const std::string& text() const override { return inner_->text(); }
  std::size_t most_bytes() const override { return most_bytes_; }  // a copy whole, mostly

 private:
  std::shared_ptr<const CodecPlan> inner_;
  std::size_t most_bytes_;
};

}  // namespace hearsay::gossip
