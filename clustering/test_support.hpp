// SPDX-License-Identifier: Apache-2.0
// Sketches and distances that tests know the answer to. Cost: m draws a sketch.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "clustering/distances.hpp"
#include "kernels/core/rng.hpp"

namespace hearsay::clustering::testing {

using Rows = std::vector<std::vector<float>>;

inline std::vector<std::span<const float>> spans(const Rows& rows) {
  return {rows.begin(), rows.end()};
}

// One common part of size 5, what a group shares of size `apart`, noise of size 1, per value in the
// mean over the values. Peer i is in group i mod groups.
inline Rows planted(std::uint64_t seed, std::size_t peers, std::size_t groups, std::size_t values,
                    double apart) {
  kernels::Rng rng = kernels::Rng::stream(seed, "planted");
  std::vector<std::vector<double>> centres(groups, std::vector<double>(values));
  for (std::size_t k = 0; k < values; ++k) {
    const double common = 5.0 * rng.normal();
    for (auto& centre : centres) centre[k] = common + apart * rng.normal();
  }
  Rows rows;
  for (std::size_t i = 0; i < peers; ++i) {
    rows.emplace_back();
    for (std::size_t k = 0; k < values; ++k) {
      rows.back().push_back(static_cast<float>(centres[i % groups][k] + rng.normal()));
    }
  }
  return rows;
}

inline Rows noise(std::uint64_t seed, std::size_t peers, std::size_t values) {
  return planted(seed, peers, 1, values, 0.0);
}

inline std::vector<std::uint32_t> planted_labels(std::size_t peers, std::size_t groups) {
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < peers; ++i) labels.push_back(static_cast<std::uint32_t>(i % groups));
  return labels;
}

// Euclidean, of points in `values` dimensions; all different.
inline Distances random_distances(std::uint64_t seed, std::size_t peers, std::size_t values = 3) {
  const Rows rows = noise(seed, peers, values);
  return sketch_distances(spans(rows), Metric::euclidean);
}

// Points on a line.
inline Distances on_line(const std::vector<double>& points) {
  Distances distances(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      distances.set(i, j, std::fabs(points[i] - points[j]));
    }
  }
  return distances;
}

// As if nothing had come of this peer.
inline void isolate(Distances& distances, std::size_t peer) {
  for (std::size_t j = 0; j < distances.size(); ++j) {
    if (j != peer) distances.set(peer, j, std::numeric_limits<double>::infinity());
  }
}

inline std::vector<std::uint32_t> permutation(std::uint64_t seed, std::size_t peers) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < peers; ++i) order.push_back(i);
  kernels::Rng rng = kernels::Rng::stream(seed, "permutation");
  rng.shuffle(order);
  return order;
}

// Peer order[i] of the result is peer i of `distances`.
inline Distances permuted(const Distances& distances, std::span<const std::uint32_t> order) {
  Distances out(distances.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      out.set(order[i], order[j], distances(i, j));
    }
  }
  return out;
}

}  // namespace hearsay::clustering::testing
