// SPDX-License-Identifier: Apache-2.0
// Digest of a weight buffer: XXH3-128 over the XXH3-64 digests of its 65,536-value tiles in order.
// Tiled so that a GPU or a sparse update can keep it current. Bit-exact: +0 and -0 differ, NaN
// payloads differ. Little-endian hosts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearsay::kernels {

inline constexpr std::size_t kDigestTileValues = 65'536;

struct Digest {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
  std::string hex() const;  // 32 lower-case digits, high half first
};

// Collects the tile digests of one or several buffers; a run's digest takes its peers' buffers in
// id order.
class DigestBuilder {
 public:
  void add(std::span<const float> weights);
  Digest finish() const;
  const std::vector<std::uint64_t>& tiles() const noexcept { return tiles_; }

 private:
  std::vector<std::uint64_t> tiles_;
};

Digest digest(std::span<const float> weights);
// Plain XXH3-64 of bytes, for data sets and files.
std::uint64_t digest64(std::span<const std::uint8_t> bytes);

}  // namespace hearsay::kernels
