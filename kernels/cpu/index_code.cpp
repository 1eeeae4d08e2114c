// SPDX-License-Identifier: Apache-2.0
// Works on a copy of the payload with eight bytes of zeros behind it, so that every read of 64 bits
// stays inside; the copy costs a tenth of the decoding. Words are little-endian, as on the wire.
#include "kernels/ops/index_code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/core/check.hpp"

namespace hearsay::kernels {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kRoom = kBitmapBytes + 16;

std::uint64_t load(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// `count` bits (<= 16) from bit `at`.
std::uint32_t bits_at(const std::uint8_t* from, std::size_t at, std::uint32_t mask) {
  return static_cast<std::uint32_t>(load(from + at / 8) >> (at % 8)) & mask;
}

// Appends low bits after the unary part.
class BitWriter {
 public:
  BitWriter(std::uint8_t* to, std::size_t at) : to_(to + at / 8), fill_(at % 8) { word_ = *to_; }
  void put(std::uint32_t value, std::uint32_t bits) {
    word_ |= std::uint64_t{value} << fill_;
    fill_ += bits;
    while (fill_ >= 32) {
      const auto low = static_cast<std::uint32_t>(word_);
      std::memcpy(to_, &low, sizeof(low));
      to_ += 4;
      word_ >>= 32;
      fill_ -= 32;
    }
  }
  void finish() {
    for (; fill_ > 0; fill_ -= std::min<std::size_t>(fill_, 8), word_ >>= 8) {
      *to_++ = static_cast<std::uint8_t>(word_);
    }
  }

 private:
  std::uint8_t* to_;
  std::uint64_t word_ = 0;
  std::size_t fill_;
};

void encode_elias_fano(const IndexShape& shape, std::span<const std::uint16_t> indices,
                       std::uint8_t* payload) {
  std::memset(payload, 0, shape.payload);
  const std::uint32_t low = shape.low_bits, mask = (1u << low) - 1;
  for (std::uint32_t j = 0; j < indices.size(); ++j) {
    const std::uint32_t at = (std::uint32_t{indices[j]} >> low) + j;
    payload[at / 8] = static_cast<std::uint8_t>(payload[at / 8] | 1u << at % 8);
  }
  if (low == 0) return;
  BitWriter writer(payload, shape.high_bits);
  for (const std::uint16_t index : indices) writer.put(index & mask, low);
  writer.finish();
}

void encode_bitmap(std::span<const std::uint16_t> indices, std::uint8_t* payload) {
  std::memset(payload, 0, kBitmapBytes);
  for (const std::uint16_t i : indices) {
    payload[i / 8] = static_cast<std::uint8_t>(payload[i / 8] | 1u << i % 8);
  }
}

std::uint32_t ones(const std::uint8_t* from, std::size_t bytes) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < bytes; i += 8) {
    count += static_cast<std::uint32_t>(std::popcount(load(from + i)));
  }
  return count;
}

bool is_ascending(std::span<const std::uint16_t> indices, std::uint32_t positions) {
  std::uint32_t falls = 0;
  for (std::size_t j = 1; j < indices.size(); ++j) falls += indices[j] <= indices[j - 1];
  return falls == 0 && (indices.empty() || indices.back() < positions);
}

// Positions of the ones below `bits`, each handed on with its rank.
template <typename Each>
void for_ones(const std::uint8_t* from, std::size_t bits, const Each& each) {
  std::uint32_t rank = 0;
  for (std::size_t base = 0; base < bits; base += 64) {
    std::uint64_t word = load(from + base / 8);
    if (bits - base < 64) word &= (std::uint64_t{1} << (bits - base)) - 1;
    for (; word != 0; word &= word - 1, ++rank) {
      each(static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(std::countr_zero(word)),
           rank);
    }
  }
}

std::uint32_t ones_below(const std::uint8_t* from, std::size_t bits) {
  const std::size_t whole = bits / 64;
  const std::uint64_t rest = load(from + whole * 8) & ((std::uint64_t{1} << bits % 64) - 1);
  return ones(from, whole * 8) + static_cast<std::uint32_t>(std::popcount(rest));
}

bool decode_elias_fano(const IndexShape& shape, const std::uint8_t* padded, std::uint32_t count,
                       std::uint16_t* out) {
  const std::uint32_t low = shape.low_bits, mask = (1u << low) - 1;
  const std::size_t end = std::size_t{shape.high_bits} + std::size_t{count} * low;
  const bool is_padded_with_zeros = end % 8 == 0 || padded[end / 8] >> end % 8 == 0;
  if (ones_below(padded, shape.high_bits) != count || !is_padded_with_zeros) return false;
  // rank < count and position < high_bits = count + (65535 >> low) from here on; the last position
  // of rank j is at least as far from the end as there are ones behind it: high part <= 65535 >>
  // low.
  std::size_t at = shape.high_bits;
  for_ones(padded, shape.high_bits, [&](std::uint32_t position, std::uint32_t rank) {
    out[rank] = static_cast<std::uint16_t>((position - rank) << low | bits_at(padded, at, mask));
    at += low;
  });
  return true;
}

}  // namespace

std::size_t encode_indices(std::span<const std::uint16_t> indices, std::span<std::uint8_t> record) {
  HS_CHECK(indices.size() <= kIndexTile && is_ascending(indices, kIndexTile));
  const auto count = static_cast<std::uint32_t>(indices.size());
  const IndexShape shape = index_shape(count);
  HS_CHECK(record.size() >= std::size_t{shape.header} + shape.payload);
  std::uint8_t* const payload = record.data() + shape.header;
  if (shape.codec == IndexCodec::bitmap) {
    record[0] = static_cast<std::uint8_t>(kBitmapHeader);
  } else if (shape.header == 1) {
    record[0] = static_cast<std::uint8_t>(count);
  } else {
    record[0] = static_cast<std::uint8_t>(0x80u | count >> 8);
    record[1] = static_cast<std::uint8_t>(count);
  }
  if (shape.codec == IndexCodec::list) std::memcpy(payload, indices.data(), shape.payload);
  if (shape.codec == IndexCodec::elias_fano) encode_elias_fano(shape, indices, payload);
  if (shape.codec == IndexCodec::bitmap) encode_bitmap(indices, payload);
  return std::size_t{shape.header} + shape.payload;
}

IndexRecord measure_indices(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return {};
  std::uint32_t count = bytes[0];
  if (count == kBitmapHeader) {
    if (bytes.size() < kBitmapRecord) return {};
    count = ones(bytes.data() + 1, kBitmapBytes);
    return count > kMostSparse ? IndexRecord{count, kBitmapRecord} : IndexRecord{};
  }
  if (count >= kShortCount) {
    if (bytes.size() < 2) return {};
    count = (count & 0x7Fu) << 8 | bytes[1];
    if (count < kShortCount || count > kMostSparse) return {};
  }
  const std::size_t size = index_bytes(count);
  return size <= bytes.size() ? IndexRecord{count, size} : IndexRecord{};
}

bool decode_indices(std::span<const std::uint8_t> bytes, std::uint32_t positions,
                    std::span<std::uint16_t> indices, IndexRecord& record) {
  HS_CHECK(positions <= kIndexTile);
  record = measure_indices(bytes);
  if (record.bytes == 0 || record.count > indices.size()) return false;
  const IndexShape shape = index_shape(record.count);
  const std::uint8_t* const payload = bytes.data() + shape.header;
  const std::span<std::uint16_t> out = indices.first(record.count);
  if (shape.codec == IndexCodec::bitmap) {
    for_ones(payload, kIndexTile, [&](std::uint32_t position, std::uint32_t rank) {
      out[rank] = static_cast<std::uint16_t>(position);
    });
    return out.back() < positions;
  }
  if (shape.codec == IndexCodec::list) std::memcpy(out.data(), payload, shape.payload);
  if (shape.codec == IndexCodec::elias_fano) {
    std::uint8_t padded[kRoom];
    std::memcpy(padded, payload, shape.payload);
    std::memset(padded + shape.payload, 0, 16);
    if (!decode_elias_fano(shape, padded, record.count, out.data())) return false;
  }
  return is_ascending(out, positions);
}

}  // namespace hearsay::kernels
