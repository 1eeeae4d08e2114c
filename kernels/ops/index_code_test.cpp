// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/index_code.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::kernels;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Indices = std::vector<std::uint16_t>;

Bytes encoded(const Indices& indices) {
  Bytes record(index_bytes(static_cast<std::uint32_t>(indices.size())), 0xA5);
  REQUIRE(encode_indices(indices, record) == record.size());
  return record;
}

// A copy on the heap with nothing behind it, so that AddressSanitizer sees a read beyond the end.
bool decodes(const Bytes& bytes, std::uint32_t positions, Indices& out) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  Indices room(out.size() + 8, 0xBEEF);
  IndexRecord record;
  const bool is_good = decode_indices({exact.get(), bytes.size()}, positions,
                                      std::span(room).first(out.size()), record);
  for (std::size_t i = out.size(); i < room.size(); ++i) REQUIRE(room[i] == 0xBEEF);
  if (is_good) {
    REQUIRE((record.count <= out.size() && record.bytes <= bytes.size()));
    out.assign(room.begin(), room.begin() + record.count);
  }
  return is_good;
}

Indices random_indices(Rng& rng, double density, std::uint32_t positions = kIndexTile) {
  Indices indices;
  for (std::uint32_t i = 0; i < positions; ++i) {
    if (rng.uniform() < density) indices.push_back(static_cast<std::uint16_t>(i));
  }
  return indices;
}

void check_round_trip(const Indices& indices, std::uint32_t positions) {
  const Bytes record = encoded(indices);
  Indices back(indices.size());
  REQUIRE(decodes(record, positions, back));
  REQUIRE(back == indices);
  Bytes cut(record.begin(), record.end() - 1);
  Indices other(indices.size());
  REQUIRE_FALSE(decodes(cut, positions, other));
  if (!indices.empty()) {
    REQUIRE_FALSE(decodes(record, indices.back(), other));
    other.resize(indices.size() - 1);
    REQUIRE_FALSE(decodes(record, positions, other));
  }
}

}  // namespace

TEST_CASE("every count comes back, packed to the left, to the right, and spread out") {
  std::vector<std::uint32_t> counts{0,     255,   256,   257,   1000,  4096,  8191,
                                    12000, 16383, 16384, 16385, 32768, 65535, 65536};
  for (std::uint32_t n = 1; n < 140; ++n) counts.push_back(n);
  for (const std::uint32_t count : counts) {
    CAPTURE(count);
    Indices left(count), right(count), spread(count);
    for (std::uint32_t j = 0; j < count; ++j) {
      left[j] = static_cast<std::uint16_t>(j);
      right[j] = static_cast<std::uint16_t>(kIndexTile - count + j);
      spread[j] = static_cast<std::uint16_t>(std::uint64_t{j} * kIndexTile / count);
    }
    check_round_trip(left, kIndexTile);
    check_round_trip(right, kIndexTile);
    check_round_trip(spread, kIndexTile);
  }
}

TEST_CASE("random masks come within 7, 7 and 13 % of their entropy") {
  const auto [density, most] =
      GENERATE(std::pair{0.001, 1.07}, std::pair{0.01, 1.07}, std::pair{0.1, 1.13});
  auto rng = Rng::stream(8, "index-masks");
  double bits = 0.0, indices = 0.0, entropy = 0.0;
  for (int tile = 0; tile < 100; ++tile) {
    const Indices mask = random_indices(rng, density);
    check_round_trip(mask, kIndexTile);
    const auto count = static_cast<double>(mask.size());
    bits += 8.0 * static_cast<double>(index_bytes(static_cast<std::uint32_t>(mask.size())));
    indices += count;
    // What this mask says to one who knows the density.
    entropy -= count * std::log2(density) + (kIndexTile - count) * std::log2(1.0 - density);
  }
  CAPTURE(density, bits / indices, bits / entropy);
  CHECK(bits / entropy <= most);
  CHECK(bits / entropy >= 0.99);
  if (density == 0.01) CHECK(bits / indices <= 8.62);
}

TEST_CASE("no form of a record is larger than its neighbours in use") {
  for (std::uint32_t n = 1; n <= kIndexTile; ++n) {
    const IndexShape shape = index_shape(n);
    REQUIRE(shape.payload <= 2 * n);
    REQUIRE(shape.payload <= kBitmapBytes);
    REQUIRE(index_bytes(n) <= kMostIndexBytes);
    REQUIRE(shape.payload >= index_shape(n - 1).payload);
    if (shape.codec == IndexCodec::elias_fano) {
      REQUIRE(shape.high_bits + n * shape.low_bits <= 8 * shape.payload);
      REQUIRE(8 * shape.payload < shape.high_bits + n * shape.low_bits + 8);
    }
  }
}

TEST_CASE("partial tiles hold what lies below their end and nothing else") {
  auto rng = Rng::stream(9, "index-partial");
  for (const std::uint32_t positions : {1u, 7u, 64u, 4097u, 65535u}) {
    for (const double density : {0.02, 0.2, 0.9, 1.0})
      check_round_trip(random_indices(rng, density, positions), positions);
  }
}

TEST_CASE("records that say something else than their bytes are refused") {
  Indices out(kIndexTile);
  CHECK_FALSE(decodes({}, kIndexTile, out));
  CHECK(decodes({0}, kIndexTile, out));
  CHECK(out.empty());
  out.resize(kIndexTile);
  CHECK_FALSE(decodes({2, 5, 0, 5, 0}, kIndexTile, out));   // twice the same
  CHECK_FALSE(decodes({2, 5, 0, 4, 0}, kIndexTile, out));   // falls
  CHECK_FALSE(decodes({0x80}, kIndexTile, out));            // half a header
  CHECK_FALSE(decodes(Bytes(300, 0x80), kIndexTile, out));  // 128 indices, ones missing
  Bytes overlong(3, 0);
  overlong[0] = 0x80;
  overlong[1] = 1;  // one index with a header of two bytes
  CHECK_FALSE(decodes(overlong, kIndexTile, out));
  Bytes many(40'000, 0xFF);
  many[0] = 0xC0;
  many[1] = 1;  // 16,385 indices without a bitmap
  CHECK_FALSE(decodes(many, kIndexTile, out));
  Bytes bitmap(kBitmapRecord, 0);
  bitmap[0] = 0xFF;  // a bitmap of few bits
  for (std::size_t i = 1; i <= kMostSparse / 8; ++i) bitmap[i] = 0xFF;
  CHECK_FALSE(decodes(bitmap, kIndexTile, out));
  bitmap[kMostSparse / 8 + 1] = 1;
  CHECK(decodes(bitmap, kIndexTile, out));
  CHECK(out.size() == kMostSparse + 1);
}

TEST_CASE("damaged records are refused, or are the record of what they decode to") {
  auto rng = Rng::stream(10, "index-mutants");
  std::size_t accepted = 0, refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    static constexpr double kDensities[] = {0.00004, 0.0005, 0.001, 0.002, 0.003, 0.01};
    static std::vector<Bytes> seeds;
    if (seeds.size() < 24)
      seeds.push_back(encoded(random_indices(rng, kDensities[seeds.size() % 6])));
    Bytes bytes = seeds[rng.below(static_cast<std::uint32_t>(seeds.size()))];
    for (std::uint32_t change = rng.below(3); change != ~0u; --change) {
      const std::uint32_t at =
          rng.below(rng.below(4) == 0 ? 1 : static_cast<std::uint32_t>(bytes.size()));
      switch (rng.below(4)) {
        case 0: bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ 1u << rng.below(8)); break;
        case 1: bytes[at] = static_cast<std::uint8_t>(rng.next_u32()); break;
        case 2: bytes.resize(at + 1); break;
        default: bytes.insert(bytes.begin() + at, static_cast<std::uint8_t>(rng.next_u32()));
      }
    }
    Indices out(4000);
    if (!decodes(bytes, 60'000, out)) {
      ++refused;
      continue;
    }
    ++accepted;
    for (std::size_t j = 0; j < out.size(); ++j) {
      REQUIRE((out[j] < 60'000 && (j == 0 || out[j - 1] < out[j])));
    }
    const Bytes again = encoded(out);
    REQUIRE(again.size() <= bytes.size());
    REQUIRE(std::equal(again.begin(), again.end(), bytes.begin()));
  }
  CHECK(accepted > 500);
  CHECK(refused > 10'000);
}
