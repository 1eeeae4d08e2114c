// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/digest.hpp"

#include <algorithm>
#include <cstdio>

#include <xxhash.h>

namespace hearsay::kernels {

std::string Digest::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

void DigestBuilder::add(std::span<const float> weights) {
  for (std::size_t begin = 0; begin < weights.size(); begin += kDigestTileValues) {
    const auto tile = weights.subspan(begin, std::min(kDigestTileValues, weights.size() - begin));
    tiles_.push_back(XXH3_64bits(tile.data(), tile.size_bytes()));
  }
}

Digest DigestBuilder::finish() const {
  const XXH128_hash_t hash = XXH3_128bits(tiles_.data(), tiles_.size() * sizeof(std::uint64_t));
  return {hash.high64, hash.low64};
}

Digest digest(std::span<const float> weights) {
  DigestBuilder builder;
  builder.add(weights);
  return builder.finish();
}

std::uint64_t digest64(std::span<const std::uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace hearsay::kernels
