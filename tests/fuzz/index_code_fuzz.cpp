// SPDX-License-Identifier: Apache-2.0
// Records of ascending positions in a wire tile, as a peer may send them. The first two bytes say
// how many positions the tile has.
#include <algorithm>
#include <vector>

#include "kernels/ops/index_code.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes input(data, size);
  const std::uint32_t low = input.byte(), high = input.byte();
  const std::uint32_t positions = (high << 8 | low) + 1;
  const std::span<const std::uint8_t> record = input.rest();
  const kernels::IndexRecord measured = kernels::measure_indices(record);
  require(measured.bytes <= record.size(), "a record ends where the bytes end, or before");
  std::vector<std::uint16_t> indices(measured.count);
  kernels::IndexRecord decoded;
  if (!kernels::decode_indices(record, positions, indices, decoded)) return 0;
  require(decoded.count == measured.count && decoded.bytes == measured.bytes,
          "what is decoded has the size that was measured");
  for (std::size_t j = 0; j < indices.size(); ++j) {
    require(indices[j] < positions, "an index lies in its tile");
    require(j == 0 || indices[j - 1] < indices[j], "indices ascend");
  }
  std::vector<std::uint8_t> again(kernels::index_bytes(decoded.count));
  require(kernels::encode_indices(indices, again) == decoded.bytes, "it has one size");
  require(std::equal(again.begin(), again.end(), record.begin()), "a set has one record");
  return 0;
}
