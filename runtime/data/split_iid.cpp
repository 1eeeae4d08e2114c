// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "runtime/data/split.hpp"

namespace hearsay::runtime {

std::vector<Indices> split_iid(std::size_t examples, std::uint32_t peers, kernels::Rng& rng) {
  Indices order(examples);
  std::iota(order.begin(), order.end(), 0u);
  rng.shuffle(order);
  std::vector<Indices> shards(peers);
  for (std::uint32_t p = 0; p < peers; ++p) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(even_cut(examples, peers, p));
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(even_cut(examples, peers, p + 1));
    shards[p].assign(begin, end);
  }
  return shards;
}

}  // namespace hearsay::runtime
