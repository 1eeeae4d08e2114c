// SPDX-License-Identifier: Apache-2.0
// The model in bf16, exactly: a message says the new bits at the places where they differ from what
// its receiver holds, and the digest of all bits that come of it (after Miahi and Belilovsky 2026,
// arXiv 2602.03839). What is published are the nearest bf16 of the fp32 weights that train; of
// those nothing is lost. Both sides keep two copies for each direction: the newest, and the newest
// whole one, the anchor. A message counts on
//   nothing      the first to a partner, each `anchor`-th, and where changes would be no shorter
//   the anchor   every fourth since then, so that what was lost matters no more
//   the newest   else
// and names its version. Each message also says which version of the receiver's it holds, so that
// whoever hears from a partner knows what that one has missed; one that was refused or is
// unanswered is taken for missed too, and the next counts on the anchor, then on nothing. Who
// holds no such copy, or whose digest differs, changes nothing.
// Answers speak of all weights, so both sides of an exchange move by the difference of what was
// said. Compute lane of one peer.
// Cost: 8 B a weight and partner, of the kPartners met last; two passes and a digest a message.
#pragma once

#include <map>

#include "gossip/codec/bf16_copy.hpp"
#include "gossip/codec/codec.hpp"
#include "gossip/codec/ground.hpp"
#include "gossip/codec/message.hpp"

namespace hearsay::gossip {

class LosslessCodec final : public Codec {
 public:
  static constexpr std::size_t kPartners = 16;
  static constexpr std::uint32_t kCumulative = 4;  // every so many messages count on the anchor

  LosslessCodec(CodecGroundRef ground, std::uint32_t anchor, kernels::PeerId self);

  // To nobody in particular: whole.
  merge::PackedRef encode(std::span<const float> weights, const merge::Packed* like) override;
  // Own messages, and whole ones of anybody.
  Unpacked decode(const merge::Packed& message, std::span<const float> base,
                  std::span<float> in) const override;
  merge::PackedRef encode_for(kernels::PeerId to, std::span<const float> weights,
                              const merge::Packed* like) override;
  Unpacked decode_from(kernels::PeerId from, const merge::Packed& message,
                       std::span<const float> base, std::span<float> in) override;
  void missed(kernels::PeerId who) override;
  bool mirrors() const override { return true; }
  void forget() override {}  // what partners hold is what it was
  void state(Archive& archive) override;

  static std::size_t most_bytes(std::size_t weights);

 private:
  // On which own message a partner can surely be built: the last one, the anchor, none.
  enum class Trust : std::uint8_t { newest, anchor, nothing };
  struct Partner {
    Bf16Copy said, said_anchor, heard, heard_anchor;
    std::uint32_t since_anchor = 0;  // messages to it
    Trust trust = Trust::nothing;
    bool counted_on_newest = false;  // the last message to it
    std::uint64_t met = 0;           // when, in messages of this peer
    void state(Archive& archive);
  };
  struct Head {
    kernels::PeerId from;
    std::uint32_t version = 0, base = 0, heard = 0;
    std::uint64_t digest = 0;
  };
  struct Read {
    std::string fault;
    bool is_lost = false;
    std::size_t values = 0;
    Bf16BitsRef bits;
  };

  Partner& partner(kernels::PeerId who);
  std::uint32_t next_version();
  merge::PackedRef whole(const Head& head, const Bf16Bits& bits) const;
  const Bf16Copy* base_for(const Partner& to) const;
  std::string read_head(PackedReader& reader, Head& head) const;
  Read rebuild(const Head& head, PackedReader& reader, const Bf16Copy* base) const;

  CodecGroundRef ground_;
  std::uint32_t anchor_;
  kernels::PeerId self_;
  std::uint32_t versions_ = 0;  // of own messages so far
  std::uint64_t met_ = 0;
  std::map<kernels::PeerId, Partner> partners_;
  Bf16Copy newest_;  // own, to whomever: who made a message reads it back, at once; not kept
  std::size_t newest_values_ = 0;  // said by it
};

}  // namespace hearsay::gossip
