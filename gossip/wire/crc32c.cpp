// SPDX-License-Identifier: Apache-2.0
#include "gossip/wire/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace hearsay::gossip::wire {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // ISA-L counts in int

}  // namespace

void Crc32c::add(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kMostAtOnce));
    // ISA-L reads only, but its C declaration lacks the const.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));
    state_ = crc32_iscsi(data, static_cast<int>(piece.size()), state_);
    bytes = bytes.subspan(piece.size());
  }
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  Crc32c sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace hearsay::gossip::wire
