// SPDX-License-Identifier: Apache-2.0
// Codes the ascending positions of what a message carries inside one wire tile of 65,536 positions.
// A record: a header that says the count (one byte below 128; else two, 0x80 | high and low; 0xFF:
// a bitmap), then nothing, a list of u16, an Elias-Fano code, or a bitmap of 8192 bytes, whichever
// the count makes smallest. Elias-Fano (Elias 1974, Fano 1971): one bit at (x >> l) + j for index
// j, then l low bits each, without a gap, least significant bit first. Agreement: exact; a set of
// positions has one record, and only that record decodes to it. Random positions take 12.1 bits an
// index at 0.1 %, 8.6 at 1 %, 5.26 at 10 %: within 7, 7 and 13 % of their entropy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/ops/index_math.hpp"

namespace hearsay::kernels {

// Bytes of the record of `count` indices, header included.
inline std::size_t index_bytes(std::uint32_t count) {
  const IndexShape shape = index_shape(count);
  return std::size_t{shape.header} + shape.payload;
}

// indices: strictly ascending (checked), at most 65,536. record: at least index_bytes(count) bytes;
// returns how many were written. Traffic: 2 B an index read, about 1.1 written.
std::size_t encode_indices(std::span<const std::uint16_t> indices, std::span<std::uint8_t> record);

// What the header of the record at the front of `bytes` says. bytes = 0: not a record, or it is cut
// off. The count of a bitmap is the bits that it has, so that the whole record is read for it.
struct IndexRecord {
  std::uint32_t count = 0;
  std::size_t bytes = 0;
};
IndexRecord measure_indices(std::span<const std::uint8_t> bytes);

// Decodes the record at the front of `bytes` into indices[0 .. count). Nothing about the bytes is
// trusted: false unless they are the record that encode_indices writes for positions below
// `positions` <= 65,536 and there is room for them; indices may be overwritten then, nothing else
// is touched. Reads no byte beyond `bytes`.
bool decode_indices(std::span<const std::uint8_t> bytes, std::uint32_t positions,
                    std::span<std::uint16_t> indices, IndexRecord& record);

}  // namespace hearsay::kernels
