// SPDX-License-Identifier: Apache-2.0
// Draws indices with given weights in constant time: Walker's alias method (1977), built as by
// Vose (1991). Invariant: the probability of an index is its weight's share up to rounding.
// Cost: O(n) to build, two words of randomness a draw; 12 B an index.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/rng.hpp"

namespace hearsay::runtime {

class AliasTable {
 public:
  // Weights are finite and not negative, at least one above 0.
  explicit AliasTable(std::span<const double> weights);

  std::uint32_t draw(kernels::Rng& rng) const;

 private:
  std::vector<double> keep_;          // [index] chance that it stands for itself
  std::vector<std::uint32_t> alias_;  // [index] who it stands for otherwise
};

}  // namespace hearsay::runtime
