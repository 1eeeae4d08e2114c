// SPDX-License-Identifier: Apache-2.0
#include "clustering/distances.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/core/check.hpp"

namespace hearsay::clustering {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kLanes = 8;  // sums side by side, so that the additions need not wait

template <typename Term>
double sum_of(std::size_t count, Term term) {
  std::array<double, kLanes> lanes{};
  const std::size_t whole = count - count % kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(k + lane);
  }
  for (std::size_t k = whole; k < count; ++k) lanes[k - whole] += term(k);
  double total = 0.0;
  for (const double lane : lanes) total += lane;
  return total;
}

double euclidean(std::span<const float> x, std::span<const float> y) {
  return std::sqrt(sum_of(x.size(), [&](std::size_t k) {
    const double d = static_cast<double>(x[k]) - static_cast<double>(y[k]);
    return d * d;
  }));
}

double dot(std::span<const float> x, std::span<const float> y) {
  return sum_of(x.size(), [&](std::size_t k) {
    return static_cast<double>(x[k]) * static_cast<double>(y[k]);
  });
}

std::vector<std::size_t> usable_peers(Sketches sketches) {
  std::vector<std::size_t> peers;
  for (std::size_t i = 0; i < sketches.size(); ++i) {
    if (!usable(sketches[i])) continue;
    HS_CHECK(peers.empty() || sketches[i].size() == sketches[peers.front()].size());
    peers.push_back(i);
  }
  return peers;
}

void set_euclidean(Sketches sketches, std::span<const std::size_t> peers, Distances& out) {
  for (std::size_t a = 0; a < peers.size(); ++a) {
    for (std::size_t b = a + 1; b < peers.size(); ++b) {
      out.set(peers[a], peers[b], euclidean(sketches[peers[a]], sketches[peers[b]]));
    }
  }
}

void set_cosine(Sketches sketches, std::span<const std::size_t> peers, Distances& out) {
  const std::vector<float> rows = centred(sketches);
  const std::size_t m = peers.empty() ? 0 : sketches[peers.front()].size();
  const auto row = [&](std::size_t a) { return std::span(rows).subspan(a * m, m); };
  // Norms squared; 0 where what is left beside the mean is rounding: |x - mean| <= 2^-21 |x|.
  std::vector<double> norms;
  for (std::size_t a = 0; a < peers.size(); ++a) {
    const double norm = dot(row(a), row(a));
    norms.push_back(norm <= 0x1p-42 * dot(sketches[peers[a]], sketches[peers[a]]) ? 0.0 : norm);
  }
  for (std::size_t a = 0; a < peers.size(); ++a) {
    for (std::size_t b = a + 1; b < peers.size(); ++b) {
      double distance = norms[a] == norms[b] ? 0.0 : 1.0;
      if (norms[a] > 0.0 && norms[b] > 0.0) {
        // The product of equal norms has that norm as its exact root: equal rows are 0 apart.
        const double cosine = dot(row(a), row(b)) / std::sqrt(norms[a] * norms[b]);
        distance = std::clamp(1.0 - cosine, 0.0, 2.0);
      }
      out.set(peers[a], peers[b], distance);
    }
  }
}

}  // namespace

Distances::Distances(std::size_t peers)
    : peers_(peers), values_(peers < 2 ? 0 : peers * (peers - 1) / 2) {
  HS_CHECK(peers <= kMostPeers);
}

void Distances::set(std::size_t i, std::size_t j, double distance) {
  HS_CHECK(i != j && i < peers_ && j < peers_ && distance >= 0.0);  // refuses NaN as well
  values_[index(i, j)] = distance;
}

bool Distances::isolated(std::size_t peer) const {
  for (std::size_t j = 0; j < peers_; ++j) {
    if (j != peer && (*this)(peer, j) < kInf) return false;
  }
  return peers_ > 1;
}

Distances squared(const Distances& distances) {
  Distances out(distances.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = i + 1; j < out.size(); ++j) {
      out.set(i, j, distances(i, j) * distances(i, j));
    }
  }
  return out;
}

bool usable(std::span<const float> sketch) {
  return !sketch.empty() &&
         std::all_of(sketch.begin(), sketch.end(), [](float v) { return std::isfinite(v); });
}

std::vector<float> centred(Sketches sketches) {
  const std::vector<std::size_t> peers = usable_peers(sketches);
  if (peers.empty()) return {};
  const std::size_t m = sketches[peers.front()].size();
  std::vector<double> mean(m);
  for (const std::size_t peer : peers) {
    for (std::size_t k = 0; k < m; ++k) mean[k] += static_cast<double>(sketches[peer][k]);
  }
  for (double& value : mean) value /= static_cast<double>(peers.size());
  std::vector<float> rows;
  rows.reserve(peers.size() * m);
  for (const std::size_t peer : peers) {
    for (std::size_t k = 0; k < m; ++k) {
      rows.push_back(static_cast<float>(static_cast<double>(sketches[peer][k]) - mean[k]));
    }
  }
  return rows;
}

Distances sketch_distances(Sketches sketches, Metric metric) {
  Distances out(sketches.size());
  const std::vector<std::size_t> peers = usable_peers(sketches);
  std::vector<bool> is_usable(sketches.size(), false);
  for (const std::size_t peer : peers) is_usable[peer] = true;
  for (std::size_t i = 0; i < sketches.size(); ++i) {
    for (std::size_t j = i + 1; j < sketches.size(); ++j) {
      if (!is_usable[i] || !is_usable[j]) out.set(i, j, kInf);
    }
  }
  if (metric == Metric::euclidean) set_euclidean(sketches, peers, out);
  if (metric == Metric::cosine) set_cosine(sketches, peers, out);
  return out;
}

}  // namespace hearsay::clustering
