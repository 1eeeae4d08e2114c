// SPDX-License-Identifier: Apache-2.0
#include "gossip/choco/choco_message.hpp"

#include <algorithm>
#include <utility>

namespace hearsay::gossip {

PackedBytes choco_bytes(const ChocoHead& head, PackedView body) {
  PackedBytes bytes;
  bytes.reserve(ChocoHead::kBytes + body.size());
  bytes.push_back(head.is_whole ? 1 : 0);
  put_number(bytes, head.version);
  put_number(bytes, head.base);
  put_number(bytes, head.heard);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

std::optional<ChocoHead> read_choco(PackedReader& reader) {
  const auto kind = reader.get<std::uint8_t>();
  const auto version = reader.get<std::uint64_t>(), base = reader.get<std::uint64_t>(),
             heard = reader.get<std::uint64_t>();
  if (!kind || *kind > 1 || !version || !base || !heard) return std::nullopt;
  return ChocoHead{*kind == 1, *version, *base, *heard};
}

ChocoPlan::ChocoPlan(std::shared_ptr<const CodecPlan> inner, std::size_t weights)
    : inner_(std::move(inner)),
      most_bytes_(ChocoHead::kBytes + std::max(inner_->most_bytes(), weights * sizeof(float))) {}

}  // namespace hearsay::gossip
