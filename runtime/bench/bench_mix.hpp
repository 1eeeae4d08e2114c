// SPDX-License-Identifier: Apache-2.0
// Mixing without learning, through the same protocol objects and host as training: how much
// disagreement one merge removes, against the exact expectation for a uniformly drawn ordered pair
// out of n (V = sum ||x_i - mean||^2):
//   push      E[V'] = V (1 - 2 a (1 - a (n - 1) / n) / (n - 1))
//   pairwise  E[V'] = V (1 - 4 a (1 - a) / (n - 1))
// and whether push-sum keeps its total mass and its mass-weighted mean, frames in flight included.
// Both follow from E ||x_i - x_j||^2 = 2 V / (n - 1) over a uniform ordered pair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearsay::runtime {

struct MixRow {
  std::string protocol;
  std::uint32_t peers = 0;
  double alpha = 0.0;
  std::uint64_t merges = 0;  // observed
  double expected = 0.0;     // share of V that one merge removes
  double measured = 0.0;
  double error() const { return measured / expected - 1.0; }
};
MixRow bench_contraction(const std::string& protocol, std::uint32_t peers, double alpha,
                         std::uint64_t merges, std::uint64_t seed);

struct MassRow {
  std::uint32_t peers = 0;
  std::uint64_t merges = 0;
  double mass_error = 0.0;  // largest |sum of masses / n - 1| over the run
  double mean_error =
      0.0;  // largest deviation of the mass-weighted mean, relative to the spread at the start
};
MassRow bench_mass(std::uint32_t peers, std::uint64_t merges, std::uint64_t seed);

}  // namespace hearsay::runtime
