// SPDX-License-Identifier: Apache-2.0
// How fast a pool must come to agree, from who merges with whom how often: eigenvalues of the
// expected merge. Boyd, Ghosh, Prabhakar, Shah 2006, "Randomized gossip algorithms", section II
// (alpha 1/2; other alphas by W^T W = I - 2 alpha (1 - alpha) (e_i - e_j)(e_i - e_j)^T).
// V is the sum over peers of the squared distance from the pool's mean.
// Invariant: pure functions; results are the same on every machine up to rounding.
// Cost: O(peers^3) a call (Jacobi's rotations), below a second for 256 peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearsay::gossip {

// Square, by rows.
struct Matrix {
  std::size_t size = 0;
  std::vector<double> values;
  explicit Matrix(std::size_t n) : size(n), values(n * n) {}
  double& at(std::size_t row, std::size_t column) { return values[row * size + column]; }
  double at(std::size_t row, std::size_t column) const { return values[row * size + column]; }
};

// Ascending, of a symmetric matrix.
std::vector<double> symmetric_eigenvalues(Matrix a);

// 1 - |lambda_2| of a symmetric, doubly stochastic mixing matrix: steps to reduce disagreement by e
// are about its inverse. Ring with weights 1/3: (2/3)(1 - cos(2 pi / n)). Complete with 1/n: 1.
double spectral_gap(const Matrix& mixing);

struct Link {
  std::uint32_t from = 0, to = 0;  // `to` moves towards `from`
  double weight = 0.0;             // how often, relative to the others
};

// The largest E[V'] / V that one symmetric exchange leaves, in which both move by alpha and the
// pair is drawn by weight. Uniform pairs of n: 1 - 4 alpha (1 - alpha) / (n - 1); a ring: with
// 2 alpha (1 - alpha) * 2 (1 - cos(2 pi / n)) / n.
double exchange_contraction(std::size_t peers, const std::vector<Link>& links, double alpha);

// The same of one merge in which only `to` moves. Uniform: 1 - 2 alpha (1 - alpha (n-1)/n) / (n-1).
double push_contraction(std::size_t peers, const std::vector<Link>& links, double alpha);

}  // namespace hearsay::gossip
