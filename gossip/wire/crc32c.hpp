// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, appendix B.4): checksum("123456789") = 0xE3069283. Sums may be
// continued, so that a body is checked piece by piece while it is in the cache. Cost: tens of GB/s
// with carry-less multiplication, chosen at run time by ISA-L.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearsay::gossip::wire {

class Crc32c {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  std::uint32_t value() const noexcept { return ~state_; }

 private:
  std::uint32_t state_ = ~std::uint32_t{0};
};

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace hearsay::gossip::wire
