// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/digest.hpp"

#include <vector>

#include <xxhash.h>

#include "tests/catch.hpp"

using namespace hearsay::kernels;

TEST_CASE("a digest is XXH3-128 over the XXH3-64 of its tiles") {
  std::vector<float> w(2 * kDigestTileValues + 5);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i) * 0.25f;
  const std::size_t tile = kDigestTileValues * sizeof(float);
  const std::uint64_t tiles[3] = {XXH3_64bits(w.data(), tile),
                                  XXH3_64bits(w.data() + kDigestTileValues, tile),
                                  XXH3_64bits(w.data() + 2 * kDigestTileValues, 5 * sizeof(float))};
  const auto expected = XXH3_128bits(tiles, sizeof tiles);
  CHECK(digest(w) == Digest{expected.high64, expected.low64});
  CHECK(digest(w).hex().size() == 32);
}

TEST_CASE("one flipped sign of zero changes the digest") {
  std::vector<float> w(100, 0.0f);
  const Digest before = digest(w);
  w[77] = -0.0f;
  CHECK_FALSE(digest(w) == before);
}

TEST_CASE("an empty buffer has a digest and it is stable") { CHECK(digest({}) == digest({})); }
