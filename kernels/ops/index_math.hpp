// SPDX-License-Identifier: Apache-2.0
// The sizes that a count of indices in a wire tile decides, for CPU and GPU alike. Nothing of the
// form of a record is free to choose, so that a tile has one record.
#pragma once

#include <cstdint>

#include "kernels/core/host_device.hpp"

namespace hearsay::kernels {

inline constexpr std::uint32_t kIndexTile = 65536;   // positions
inline constexpr std::uint32_t kMostSparse = 16384;  // more indices are sent as a bitmap
inline constexpr std::uint32_t kShortCount = 128;    // fewer: a header of one byte
inline constexpr std::uint32_t kBitmapHeader = 0xFF;
inline constexpr std::uint32_t kBitmapBytes = kIndexTile / 8;
inline constexpr std::uint32_t kBitmapRecord = 1 + kBitmapBytes;
inline constexpr std::uint32_t kMostIndexBytes = 2 + kBitmapBytes;  // 16,384 indices by Elias-Fano

enum class IndexCodec : std::uint32_t { empty, list, elias_fano, bitmap };

struct IndexShape {
  IndexCodec codec = IndexCodec::empty;
  std::uint32_t low_bits = 0;   // of Elias-Fano
  std::uint32_t high_bits = 0;  // length of its unary part, which comes first
  std::uint32_t header = 1;     // bytes
  std::uint32_t payload = 0;    // bytes
};

HS_HD inline std::uint32_t unary_bits(std::uint32_t count, std::uint32_t low_bits) {
  return count + ((kIndexTile - 1) >> low_bits);
}

// Record of `count` <= 65,536 indices: the smallest of the forms, a list where it is no larger.
HS_HD inline IndexShape index_shape(std::uint32_t count) {
  IndexShape shape;
  if (count == 0) return shape;
  if (count > kMostSparse) {
    shape.codec = IndexCodec::bitmap;
    shape.payload = kBitmapBytes;
    return shape;
  }
  shape.header = count < kShortCount ? 1 : 2;
  std::uint32_t best = ~0u;
  for (std::uint32_t low = 0; low < 16; ++low) {
    const std::uint32_t bits = count * low + unary_bits(count, low);
    if (bits < best) {
      best = bits;
      shape.low_bits = low;
    }
  }
  shape.high_bits = unary_bits(count, shape.low_bits);
  shape.payload = (best + 7) / 8;
  shape.codec = IndexCodec::elias_fano;
  if (2 * count <= shape.payload) shape = {IndexCodec::list, 0, 0, shape.header, 2 * count};
  return shape;
}

}  // namespace hearsay::kernels
