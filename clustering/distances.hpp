// SPDX-License-Identifier: Apache-2.0
// How far apart n peers are, from one sketch of each. A peer whose sketch is missing (empty) or
// holds NaN or infinity is isolated: +inf away from everybody. Equal sketches are exactly 0 apart.
// Sums run in fp64 in one fixed order: the same bits wherever the sketches are the same.
//   euclidean  |x - y|. Sees models that trained at another pace as far away.
//   cosine     1 - cos(x - mean, y - mean), 0 to 2; the mean is over the peers that have a sketch,
//              otherwise what all models share would make everybody alike. A sketch that lies at
//              the mean up to fp32 rounding has no direction: 0 from its like, 1 from the rest.
// Lane: any, pure. Cost: n (n - 1) / 2 rows of m values: 0.1 ms for 16 peers, 0.3 s for 1,024, at
// m = 1024; 8 B a pair, and 4 n m B for the cosine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hearsay::clustering {

inline constexpr std::size_t kMostPeers = 1024;  // callers refuse larger pools

// A symmetric matrix with a zero diagonal; its upper triangle row by row, SciPy's condensed form.
class Distances {
 public:
  Distances() = default;
  explicit Distances(std::size_t peers);  // all 0; at most kMostPeers

  std::size_t size() const noexcept { return peers_; }
  double operator()(std::size_t i, std::size_t j) const {
    return i == j ? 0.0 : values_[index(i, j)];
  }
  void set(std::size_t i, std::size_t j, double distance);  // i != j; not NaN, not negative
  // Nobody is at a finite distance: nothing is known about it. A pool of one is not isolated.
  bool isolated(std::size_t peer) const;
  std::span<const double> values() const& noexcept { return values_; }
  std::span<const double> values() const&& = delete;  // would outlive what it shows

 private:
  std::size_t index(std::size_t i, std::size_t j) const {
    if (i > j) return index(j, i);
    return i * peers_ - i * (i + 1) / 2 + (j - i - 1);
  }
  std::size_t peers_ = 0;
  std::vector<double> values_;
};

Distances squared(const Distances& distances);  // what Ward's linkage takes

enum class Metric : std::uint8_t { euclidean, cosine };

// One sketch a peer, all of one length but for those that are missing.
using Sketches = std::span<const std::span<const float>>;

bool usable(std::span<const float> sketch);  // there, and every value finite
Distances sketch_distances(Sketches sketches, Metric metric);

// The usable sketches less their mean, in order, one after another. fp64 sums, rounded to fp32.
std::vector<float> centred(Sketches sketches);

}  // namespace hearsay::clustering
