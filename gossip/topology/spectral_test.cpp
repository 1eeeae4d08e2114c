// SPDX-License-Identifier: Apache-2.0
#include "gossip/topology/spectral.hpp"

#include <cmath>
#include <numbers>

#include "gossip/topology/topology.hpp"
#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;

namespace {

constexpr double kPi = std::numbers::pi;

std::vector<Link> links_of(const Topology& topology, std::uint32_t peers,
                           std::uint64_t rounds = 1) {
  std::vector<Link> links;
  for (std::uint32_t i = 0; i < peers; ++i) {
    for (std::uint64_t t = 0; t < rounds; ++t) {
      const std::uint32_t degree = topology.degree(PeerId(i), t);
      for (std::uint32_t k = 0; k < degree; ++k)
        links.push_back({i, topology.neighbour(PeerId(i), t, k).value, 1.0 / degree});
    }
  }
  return links;
}

// Mean of V'/V over random merges of random vectors: what the functions bound from above.
double simulated(std::uint32_t n, const std::vector<Link>& links, double alpha, bool both) {
  auto rng = hearsay::kernels::Rng::stream(5, "spectral");
  const auto spread = [](const std::vector<double>& x) {
    double mean = 0.0, v = 0.0;
    for (const double value : x) mean += value / static_cast<double>(x.size());
    for (const double value : x) v += (value - mean) * (value - mean);
    return v;
  };
  double sum = 0.0;
  constexpr int kDraws = 40'000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> x(n);
    for (double& value : x) value = rng.below(1000);
    const double before = spread(x);
    const Link& link = links[rng.below(static_cast<std::uint32_t>(links.size()))];
    const double difference = x[link.from] - x[link.to];
    x[link.to] += alpha * difference;
    if (both) x[link.from] -= alpha * difference;
    sum += spread(x) / before;
  }
  return sum / kDraws;
}

}  // namespace

TEST_CASE("eigenvalues of known matrices", "[topology]") {
  Matrix a(3);
  a.values = {2, 1, 0, 1, 2, 1, 0, 1, 2};
  const auto values = symmetric_eigenvalues(a);
  CHECK(values[0] == Approx(2 - std::sqrt(2.0)));
  CHECK(values[1] == Approx(2.0));
  CHECK(values[2] == Approx(2 + std::sqrt(2.0)));
  CHECK(symmetric_eigenvalues(Matrix(0)).empty());
}

TEST_CASE("the gaps of a ring and of a complete graph are those of the closed forms",
          "[topology]") {
  const auto n = GENERATE(std::size_t{4}, std::size_t{7}, std::size_t{16}, std::size_t{64});
  Matrix ring(n), complete(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::size_t j : {i, (i + 1) % n, (i + n - 1) % n}) ring.at(i, j) = 1.0 / 3;
    for (std::size_t j = 0; j < n; ++j) complete.at(i, j) = 1.0 / static_cast<double>(n);
  }
  const double angle = 2 * kPi / static_cast<double>(n);
  CHECK(spectral_gap(ring) == Approx(2.0 / 3 * (1 - std::cos(angle))));
  CHECK(spectral_gap(complete) == Approx(1.0));
}

TEST_CASE("contraction of uniform pairs and of rings is that of the closed forms", "[topology]") {
  const auto n = GENERATE(2u, 3u, 8u, 33u);
  const double alpha = GENERATE(0.5, 0.25);
  const double m = n;
  const auto uniform = links_of(*make_uniform(n), n);
  CHECK(exchange_contraction(n, uniform, alpha) ==
        Approx(1 - 4 * alpha * (1 - alpha) / (m - 1)).margin(1e-12));
  CHECK(push_contraction(n, uniform, alpha) ==
        Approx(1 - 2 * alpha * (1 - alpha * (m - 1) / m) / (m - 1)));
  if (n < 3) return;
  const auto ring = links_of(*make_ring(n), n);
  CHECK(exchange_contraction(n, ring, alpha) ==
        Approx(1 - 2 * alpha * (1 - alpha) * 2 * (1 - std::cos(2 * kPi / m)) / m));
}

TEST_CASE("simulated merges stay below the contraction that is promised", "[topology]") {
  const auto links = links_of(*make_exponential(8), 8, 3);
  CHECK(simulated(8, links, 0.5, true) < exchange_contraction(8, links, 0.5) + 0.002);
  CHECK(simulated(8, links, 0.5, false) < push_contraction(8, links, 0.5) + 0.002);
  const auto uniform = links_of(*make_uniform(8), 8);  // equal, as all directions contract alike
  CHECK(simulated(8, uniform, 0.3, true) ==
        Approx(exchange_contraction(8, uniform, 0.3)).margin(0.004));
  CHECK(simulated(8, uniform, 0.3, false) ==
        Approx(push_contraction(8, uniform, 0.3)).margin(0.004));
}

TEST_CASE("pools that are cut in two never agree", "[topology]") {
  const std::vector<Link> links{{0, 1, 1.0}, {2, 3, 1.0}};
  CHECK(exchange_contraction(4, links, 0.5) == Approx(1.0));
  CHECK(exchange_contraction(4, {}, 0.5) == 1.0);
  CHECK(push_contraction(1, {}, 0.5) == 1.0);
}
