// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/lossless_codec.hpp"

#include <algorithm>
#include <utility>

#include "gossip/codec/entry_records.hpp"
#include "kernels/core/check.hpp"

namespace hearsay::gossip {
namespace {

constexpr std::size_t kHead = kPackedHead + 24;  // four numbers of 4 bytes, a digest

PackedBytes head_bytes(std::uint32_t tag, std::uint32_t from, std::uint32_t version,
                       std::uint32_t base, std::uint32_t heard, std::uint64_t digest) {
  PackedBytes bytes;
  put_head(bytes, PackedForm::changes, tag);
  put_number(bytes, from);
  put_number(bytes, version);
  put_number(bytes, base);
  put_number(bytes, heard);
  put_number(bytes, digest);
  return bytes;
}

void put_bits(PackedBytes& bytes, std::span<const std::uint16_t> bits) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + 2 * bits.size());
  if (!bits.empty()) std::memcpy(bytes.data() + begin, bits.data(), 2 * bits.size());
}

}  // namespace

LosslessCodec::LosslessCodec(CodecGroundRef ground, std::uint32_t anchor, kernels::PeerId self)
    : ground_(std::move(ground)), anchor_(anchor), self_(self) {
  HS_CHECK(anchor_ >= 1);
}

std::size_t LosslessCodec::most_bytes(std::size_t weights) { return kHead + 2 * weights; }

void LosslessCodec::Partner::state(Archive& archive) {
  archive("said", said)("said_anchor", said_anchor)("heard", heard)("heard_anchor", heard_anchor);
  archive("since_anchor", since_anchor)("trust", trust);
  archive("counted_on_newest", counted_on_newest)("met", met);
  if (trust > Trust::nothing) archive.fail("trust", "does not exist");
}

// Of a partner not met before the one whose last meeting is longest ago makes room.
LosslessCodec::Partner& LosslessCodec::partner(kernels::PeerId who) {
  if (partners_.find(who) == partners_.end() && partners_.size() >= kPartners) {
    partners_.erase(
        std::min_element(partners_.begin(), partners_.end(),
                         [](const auto& a, const auto& b) { return a.second.met < b.second.met; }));
  }
  Partner& found = partners_[who];
  found.met = ++met_;
  return found;
}

// 0 says none, also after 2^32 messages.
std::uint32_t LosslessCodec::next_version() {
  if (++versions_ == 0) ++versions_;
  return versions_;
}

merge::PackedRef LosslessCodec::whole(const Head& head, const Bf16Bits& bits) const {
  auto message = std::make_shared<merge::Packed>();
  message->bytes =
      head_bytes(ground_->tag, head.from.value, head.version, 0, head.heard, head.digest);
  put_bits(message->bytes, bits);
  return message;
}

merge::PackedRef LosslessCodec::encode(std::span<const float> weights, const merge::Packed*) {
  const Bf16BitsRef bits = bf16_bits(weights, ground_->start);
  newest_ = {next_version(), bits};
  newest_values_ = bits->size();
  return whole({self_, newest_.version, 0, 0, digest_of(*bits)}, *bits);
}

// What the next message to a partner counts on; null: nothing, it is whole.
const Bf16Copy* LosslessCodec::base_for(const Partner& to) const {
  const std::uint32_t number = to.since_anchor + 1;  // since the anchor, which was 0
  if (to.trust == Trust::nothing || !to.said_anchor.is_held() || number >= anchor_) return nullptr;
  if (to.trust == Trust::anchor || number % kCumulative == 0) return &to.said_anchor;
  return &to.said;
}

merge::PackedRef LosslessCodec::encode_for(kernels::PeerId to, std::span<const float> weights,
                                           const merge::Packed*) {
  Partner& there = partner(to);
  const Bf16BitsRef bits = bf16_bits(weights, ground_->start);
  Head head{self_, next_version(), 0, there.heard.version, digest_of(*bits)};
  const Bf16Copy* const base = base_for(there);
  merge::PackedRef message;
  newest_values_ = bits->size();
  if (base != nullptr) {
    const std::vector<std::uint32_t> at = changed_places(*base->bits, *bits);
    PackedBytes bytes =
        head_bytes(ground_->tag, self_.value, head.version, base->version, head.heard, head.digest);
    put_entries(bytes, at, bits->size());
    Bf16Bits changed(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) changed[i] = (*bits)[at[i]];
    put_bits(bytes, changed);
    if (bytes.size() < most_bytes(bits->size())) {
      newest_values_ = at.size();
      message = std::make_shared<merge::Packed>(merge::Packed{std::move(bytes)});
    }
  }
  there.counted_on_newest = message != nullptr && base == &there.said;
  there.said = newest_ = {head.version, bits};
  if (message) {
    ++there.since_anchor;
  } else {
    message = whole(head, *bits);
    there.said_anchor = there.said;
    there.since_anchor = 0;
  }
  there.trust = Trust::newest;
  return message;
}

void LosslessCodec::missed(kernels::PeerId who) {
  const auto found = partners_.find(who);
  if (found == partners_.end()) return;
  Partner& there = found->second;
  there.trust = there.counted_on_newest ? Trust::anchor : Trust::nothing;
}

std::string LosslessCodec::read_head(PackedReader& reader, Head& head) const {
  std::string fault;
  const auto form = gossip::read_head(reader, ground_->tag, fault);
  if (!form) return fault;
  if (*form != PackedForm::changes)
    return "message names its weights in another way than this codec";
  const auto from = reader.get<std::uint32_t>(), version = reader.get<std::uint32_t>(),
             base = reader.get<std::uint32_t>(), heard = reader.get<std::uint32_t>();
  const auto digest = reader.get<std::uint64_t>();
  if (!from || !version || !base || !heard || !digest) return "message is cut off in its head";
  if (*version == 0) return "message has no version";
  head = {kernels::PeerId(*from), *version, *base, *heard, *digest};
  return {};
}

// The bits that a message comes to, `base` being what it counts on.
LosslessCodec::Read LosslessCodec::rebuild(const Head& head, PackedReader& reader,
                                           const Bf16Copy* base) const {
  const std::size_t n = ground_->start.size();
  Read read;
  std::vector<std::uint32_t> at;
  if (head.base != 0) {
    read.fault = read_entries(reader, n, n, at);
    if (!read.fault.empty()) return read;
  }
  read.values = head.base == 0 ? n : at.size();
  if (reader.rest().size() != 2 * read.values) {
    read.fault = "message has " + std::to_string(reader.rest().size()) +
                 " bytes of values, expected " + std::to_string(2 * read.values);
    return read;
  }
  if (head.base != 0 && base == nullptr) {
    read.fault = "message counts on version " + std::to_string(head.base) +
                 " of its sender's weights, which this peer does not hold";
    read.is_lost = true;
    return read;
  }
  const std::uint8_t* const from = reader.rest().data();
  auto bits =
      head.base == 0 ? std::make_shared<Bf16Bits>(n) : std::make_shared<Bf16Bits>(*base->bits);
  if (head.base == 0 && n > 0) std::memcpy(bits->data(), from, 2 * n);
  for (std::size_t i = 0; i < at.size(); ++i) std::memcpy(&(*bits)[at[i]], from + 2 * i, 2);
  if (digest_of(*bits) != head.digest) {
    read.fault = "message gives other weights than those whose digest it names";
    read.is_lost = head.base != 0;  // else it is broken
    return read;
  }
  read.bits = std::move(bits);
  return read;
}

Unpacked LosslessCodec::decode(const merge::Packed& message, std::span<const float> base,
                               std::span<float> in) const {
  HS_CHECK(base.size() == ground_->start.size() && in.size() == base.size());
  PackedReader reader(message.bytes);
  Head head;
  std::string fault = read_head(reader, head);
  if (!fault.empty()) return {std::move(fault), 0};
  if (head.from == self_ && head.base != 0 && newest_.is(head.version) &&
      digest_of(*newest_.bits) == head.digest) {
    widen_bits(*newest_.bits, in);
    return {{}, newest_values_};
  }
  Read read = rebuild(head, reader, nullptr);
  if (!read.bits) return {std::move(read.fault), 0, read.is_lost};
  widen_bits(*read.bits, in);
  return {{}, read.values};
}

Unpacked LosslessCodec::decode_from(kernels::PeerId from, const merge::Packed& message,
                                    std::span<const float> base, std::span<float> in) {
  HS_CHECK(base.size() == ground_->start.size() && in.size() == base.size());
  PackedReader reader(message.bytes);
  Head head;
  std::string fault = read_head(reader, head);
  if (!fault.empty()) return {std::move(fault), 0};
  if (head.from != from) return {"message names another sender", 0};
  Partner& there = partner(from);
  const Bf16Copy* const held = there.heard.is(head.base)          ? &there.heard
                               : there.heard_anchor.is(head.base) ? &there.heard_anchor
                                                                  : nullptr;
  Read read = rebuild(head, reader, held);
  // What it held of this peer's when it spoke; later messages may still be on their way. Told also
  // by a message that counts on what is lost here.
  if (there.said.is_held() && (read.bits || read.is_lost)) {
    const bool has_anchor = there.said_anchor.is_held() && head.heard >= there.said_anchor.version;
    if (head.heard == there.said.version)
      there.trust = Trust::newest;
    else
      there.trust = has_anchor ? Trust::anchor : Trust::nothing;
  }
  if (!read.bits) {
    if (held != nullptr && read.is_lost) {  // under this number each side has something else
      there.heard.drop();
      there.heard_anchor.drop();
    }
    return {std::move(read.fault), 0, read.is_lost};
  }
  widen_bits(*read.bits, in);
  there.heard = {head.version, read.bits};
  if (head.base == 0) there.heard_anchor = there.heard;
  return {{}, read.values};
}

void LosslessCodec::state(Archive& archive) {
  archive("versions", versions_)("met", met_)("partners", partners_);
  if (!archive.loading()) return;
  const auto check = [&](const Bf16Copy& copy) {
    if (copy.is_held() && copy.bits->size() != ground_->start.size())
      archive.fail("partners", "hold another model");
  };
  if (partners_.size() > kPartners) archive.fail("partners", "are too many");
  for (const auto& [who, there] : partners_) {
    for (const Bf16Copy* copy :
         {&there.said, &there.said_anchor, &there.heard, &there.heard_anchor})
      check(*copy);
    if (there.trust != Trust::nothing && !(there.said.is_held() && there.said_anchor.is_held()))
      archive.fail("partners", "are to build on what was never said");
  }
}

}  // namespace hearsay::gossip
