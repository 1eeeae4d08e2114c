// SPDX-License-Identifier: Apache-2.0
#include "gossip/codec/entry_records.hpp"

#include <algorithm>

#include "kernels/core/check.hpp"
#include "kernels/ops/index_code.hpp"

namespace hearsay::gossip {
namespace {

using kernels::kIndexTile;

std::size_t tiles_of(std::size_t positions) {
  return positions / kIndexTile + (positions % kIndexTile != 0);
}

}  // namespace

void put_entries(PackedBytes& bytes, std::span<const std::uint32_t> at, std::size_t positions) {
  HS_CHECK(at.empty() || at.back() < positions);
  put_number(bytes, static_cast<std::uint32_t>(at.size()));
  std::vector<std::uint16_t> low(std::min<std::size_t>(at.size(), kIndexTile));
  std::size_t next = 0;
  for (std::size_t tile = 0; tile < tiles_of(positions); ++tile) {
    std::size_t count = 0;
    while (next < at.size() && at[next] / kIndexTile == tile) {
      HS_CHECK(count < low.size());
      low[count++] = static_cast<std::uint16_t>(at[next++] % kIndexTile);
    }
    const std::size_t begin = bytes.size();
    bytes.resize(begin + kernels::index_bytes(static_cast<std::uint32_t>(count)));
    kernels::encode_indices(std::span(low).first(count), std::span(bytes).subspan(begin));
  }
  HS_CHECK(next == at.size());
}

std::string read_entries(PackedReader& in, std::size_t positions, std::size_t most,
                         std::vector<std::uint32_t>& at) {
  at.clear();
  const auto count = in.get<std::uint32_t>();
  if (!count) return "message is cut off before its count";
  if (*count > most || *count > positions) {
    return "message speaks of " + std::to_string(*count) + " weights, the codec says at most " +
           std::to_string(std::min(most, positions));
  }
  at.resize(*count);
  std::vector<std::uint16_t> low(std::min<std::size_t>(*count, kIndexTile));
  std::size_t found = 0;
  for (std::size_t tile = 0; tile < tiles_of(positions); ++tile) {
    const std::size_t begin = tile * kIndexTile;
    const auto here =
        static_cast<std::uint32_t>(std::min<std::size_t>(kIndexTile, positions - begin));
    kernels::IndexRecord record;
    const std::span<std::uint16_t> room =
        std::span(low).first(std::min<std::size_t>(low.size(), *count - found));
    if (!kernels::decode_indices(in.rest(), here, room, record) || !in.skip(record.bytes))
      return "positions of tile " + std::to_string(tile) + " are cut off or wrong";
    for (std::size_t j = 0; j < record.count; ++j)
      at[found + j] = static_cast<std::uint32_t>(begin + low[j]);
    found += record.count;
  }
  if (found != *count) return "message has fewer positions than its count says";
  return {};
}

std::size_t most_entry_bytes(std::size_t positions, std::size_t most) {
  // A record takes a header of one or two bytes and no more than a list or a bitmap would.
  const std::size_t tiles = tiles_of(positions);
  return 4 + 2 * tiles + std::min(2 * std::min(most, positions), kernels::kBitmapBytes * tiles);
}

}  // namespace hearsay::gossip
