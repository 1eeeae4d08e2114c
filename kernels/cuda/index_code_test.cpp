// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/index_code.hpp"

#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/cuda/device_array.hpp"
#include "kernels/cuda/index_api.h"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

struct Tiles {
  std::vector<std::uint16_t> indices;
  std::vector<std::uint64_t> first{0}, at{0};
  std::vector<std::uint8_t> bytes;
  std::size_t count() const { return first.size() - 1; }

  void add(const std::vector<std::uint16_t>& tile) {
    indices.insert(indices.end(), tile.begin(), tile.end());
    std::vector<std::uint8_t> record(index_bytes(static_cast<std::uint32_t>(tile.size())));
    encode_indices(tile, record);
    add_record(record, tile.size());
  }
  void add_record(const std::vector<std::uint8_t>& record, std::size_t indices_of_it) {
    bytes.insert(bytes.end(), record.begin(), record.end());
    at.push_back(bytes.size());
    first.push_back(first.back() + indices_of_it);
  }
};

std::vector<std::uint16_t> random_tile(Rng& rng, double density, std::uint32_t positions) {
  std::vector<std::uint16_t> tile;
  for (std::uint32_t i = 0; i < positions; ++i) {
    if (rng.uniform() < density) tile.push_back(static_cast<std::uint16_t>(i));
  }
  return tile;
}

// All forms, counts about their limits, runs, and a partial tile at the end.
Tiles many_tiles(std::uint32_t last_positions) {
  Tiles tiles;
  auto rng = Rng::stream(41, "tiles");
  for (const double density :
       {0.0, 1e-5, 5e-5, 0.0005, 0.001, 0.002, 0.01, 0.05, 0.2, 0.3, 0.9, 1.0})
    for (int i = 0; i < 5; ++i) tiles.add(random_tile(rng, density, kIndexTile));
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 31u, 32u, 33u, 127u, 128u, 129u, 1023u, 1024u,
                                1025u, 16383u, 16384u, 16385u, 65535u, 65536u}) {
    std::vector<std::uint16_t> left(n), right(n);
    for (std::uint32_t j = 0; j < n; ++j) {
      left[j] = static_cast<std::uint16_t>(j);
      right[j] = static_cast<std::uint16_t>(kIndexTile - n + j);
    }
    tiles.add(left);
    tiles.add(right);
  }
  tiles.add(random_tile(rng, 0.02, last_positions));
  return tiles;
}

struct Decoded {
  std::vector<std::uint16_t> indices;
  std::vector<std::uint32_t> status;
  std::vector<std::uint64_t> first;
};

Decoded decoded(const Tiles& tiles, std::uint64_t positions, std::size_t shift) {
  const DeviceArray<std::uint8_t> d_bytes(tiles.bytes, shift);
  const DeviceArray<std::uint64_t> d_at(tiles.at), d_first(tiles.count() + 1);
  const DeviceArray<std::uint32_t> d_status(tiles.count());
  must(hs_cuda_index_measure(d_bytes.data(), tiles.bytes.size(), d_at.data(), tiles.count(),
                             d_first.data(), d_status.data(), nullptr),
       "measure");
  const auto first = d_first.host();
  const DeviceArray<std::uint16_t> d_indices(first.back());
  must(hs_cuda_index_decode(d_bytes.data(), tiles.bytes.size(), d_at.data(), d_first.data(),
                            tiles.count(), positions, d_indices.data(), d_status.data(), nullptr),
       "decode");
  CHECK((d_indices.guards_hold() && d_status.guards_hold() && d_first.guards_hold()));
  CHECK((d_bytes.guards_hold() && d_at.guards_hold()));
  return {d_indices.host(), d_status.host(), first};
}

}  // namespace

TEST_CASE("records have the bytes of the CPU's and come back") {
  const std::uint32_t last = GENERATE(1u, 777u, 65535u);
  const std::size_t shift = GENERATE(0u, 1u, 2u, 3u);
  const Tiles tiles = many_tiles(last);
  const DeviceArray<std::uint16_t> d_indices(tiles.indices);
  const DeviceArray<std::uint64_t> d_first(tiles.first), d_at(tiles.at.size());
  must(hs_cuda_index_places(d_first.data(), tiles.count(), d_at.data(), nullptr), "places");
  CHECK((d_at.host() == tiles.at));
  const DeviceArray<std::uint8_t> d_bytes(tiles.bytes.size(), shift);
  must(hs_cuda_index_encode(d_indices.data(), d_first.data(), d_at.data(), tiles.count(),
                            d_bytes.data(), nullptr),
       "encode");
  CHECK((d_bytes.host() == tiles.bytes));
  CHECK((d_bytes.guards_hold() && d_at.guards_hold()));

  const Decoded back =
      decoded(tiles, (tiles.count() - 1) * std::uint64_t{kIndexTile} + last, shift);
  CHECK((back.status == std::vector<std::uint32_t>(tiles.count(), 0)));
  CHECK((back.first == tiles.first));
  CHECK((back.indices == tiles.indices));
}

TEST_CASE("thousands of tiles and none") {
  const std::size_t count = GENERATE(0u, 1u, 5000u);
  Tiles tiles;
  auto rng = Rng::stream(42, "sparse");
  for (std::size_t t = 0; t < count; ++t) {
    std::vector<std::uint16_t> tile;
    for (std::uint32_t i = rng.below(2000); i < kIndexTile; i += 1 + rng.below(2000))
      tile.push_back(static_cast<std::uint16_t>(i));
    tiles.add(tile);
  }
  const Decoded back = decoded(tiles, count * std::uint64_t{kIndexTile}, 1);
  CHECK((back.status == std::vector<std::uint32_t>(count, 0)));
  CHECK((back.indices == tiles.indices));
}

TEST_CASE("damaged records are refused where the CPU refuses them, and harm no other tile") {
  auto rng = Rng::stream(43, "mutants");
  Tiles tiles;
  std::vector<std::uint32_t> expected;
  std::vector<std::vector<std::uint16_t>> values;
  for (int t = 0; t < 4000; ++t) {
    static constexpr double kDensities[] = {0.00004, 0.0005, 0.001, 0.003, 0.01, 0.3};
    const auto tile = random_tile(rng, kDensities[t % 6] * (t % 60 < 54 ? 1.0 : 0.1), kIndexTile);
    std::vector<std::uint8_t> record(index_bytes(static_cast<std::uint32_t>(tile.size())));
    encode_indices(tile, record);
    for (std::uint32_t change = rng.below(3); change > 0; --change) {
      const std::uint32_t at =
          rng.below(rng.below(4) == 0 ? 1 : static_cast<std::uint32_t>(record.size()));
      if (rng.below(4) == 0) {
        record.resize(at + 1);
      } else {
        record[at] = static_cast<std::uint8_t>(record[at] ^ 1u << rng.below(8));
      }
    }
    std::vector<std::uint16_t> out(kIndexTile);
    IndexRecord found;
    const bool is_good =
        decode_indices(record, kIndexTile, out, found) && found.bytes == record.size();
    out.resize(is_good ? found.count : 0);
    expected.push_back(is_good ? 0 : 1);
    values.push_back(out);
    tiles.add_record(record, 0);
  }
  const Decoded back = decoded(tiles, tiles.count() * std::uint64_t{kIndexTile}, 3);
  CHECK((back.status == expected));
  for (std::size_t t = 0; t < values.size(); ++t) {
    if (expected[t] != 0) continue;
    const std::vector<std::uint16_t> got(
        back.indices.begin() + static_cast<std::ptrdiff_t>(back.first[t]),
        back.indices.begin() + static_cast<std::ptrdiff_t>(back.first[t + 1]));
    REQUIRE((got == values[t]));
  }
}

TEST_CASE("places that leave the bytes are refused") {
  Tiles tiles;
  for (int t = 0; t < 4; ++t) tiles.add({1, 5, 9});
  tiles.at[2] = 1000;  // tile 1 ends, tile 2 begins beyond the end
  const Decoded back = decoded(tiles, 4 * std::uint64_t{kIndexTile}, 0);
  CHECK((back.status == std::vector<std::uint32_t>{0, 1, 1, 0}));
}
