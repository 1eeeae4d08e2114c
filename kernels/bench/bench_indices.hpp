// SPDX-License-Identifier: Apache-2.0
// Random positions, each taken with a probability of 1 %, and their records, tile after tile.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/rng.hpp"
#include "kernels/ops/index_code.hpp"

namespace hearsay::kernels {

struct BenchIndices {
  std::size_t positions = 0;
  std::vector<std::uint16_t> indices;
  std::vector<std::uint64_t> first{0}, at{0};  // of each tile, in `indices` and `bytes`; one more
  std::vector<std::uint8_t> bytes;

  std::size_t tiles() const { return first.size() - 1; }
  double traffic() const {
    return 2.0 * static_cast<double>(indices.size()) + static_cast<double>(bytes.size());
  }
};

inline BenchIndices bench_indices(std::size_t positions) {
  BenchIndices out;
  out.positions = positions;
  Rng rng = Rng::stream(12, "indices");
  const double by = 1.0 / std::log(0.99);
  const auto gap = [&] { return static_cast<std::size_t>(std::log(1.0 - rng.uniform()) * by); };
  std::size_t next = gap();
  for (std::size_t begin = 0; begin < positions; begin += kIndexTile) {
    const std::size_t end = std::min<std::size_t>(positions, begin + kIndexTile);
    for (; next < end; next += 1 + gap())
      out.indices.push_back(static_cast<std::uint16_t>(next - begin));
    out.first.push_back(out.indices.size());
    const auto count = static_cast<std::uint32_t>(out.indices.size() - out.first[out.tiles() - 1]);
    out.at.push_back(out.at.back() + index_bytes(count));
  }
  out.bytes.resize(out.at.back());
  for (std::size_t t = 0; t < out.tiles(); ++t) {
    encode_indices(std::span(out.indices).subspan(out.first[t], out.first[t + 1] - out.first[t]),
                   std::span(out.bytes).subspan(out.at[t]));
  }
  return out;
}

}  // namespace hearsay::kernels
