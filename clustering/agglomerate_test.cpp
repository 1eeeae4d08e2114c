// SPDX-License-Identifier: Apache-2.0
#include "clustering/agglomerate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "clustering/cut.hpp"
#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;
using namespace hearsay::clustering::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Linkage kAll[] = {Linkage::single, Linkage::complete, Linkage::average, Linkage::ward};

using Members = std::vector<std::uint32_t>;

// From the definition, over the members, not by updates. For ward: twice the growth of the squared
// error, from pairwise squared distances.
double between(const Distances& d, const Members& x, const Members& y, Linkage linkage) {
  const auto sum = [&](const Members& a, const Members& b) {
    double total = 0.0;
    for (const auto i : a) {
      for (const auto j : b) total += d(i, j);
    }
    return total;
  };
  const double nx = static_cast<double>(x.size()), ny = static_cast<double>(y.size());
  double least = kInf, most = 0.0;
  for (const auto i : x) {
    for (const auto j : y) {
      least = std::min(least, d(i, j));
      most = std::max(most, d(i, j));
    }
  }
  if (linkage == Linkage::single) return least;
  if (linkage == Linkage::complete) return most;
  if (linkage == Linkage::average) return sum(x, y) / (nx * ny);
  const double centres =
      sum(x, y) / (nx * ny) - sum(x, x) / (2 * nx * nx) - sum(y, y) / (2 * ny * ny);
  return 2.0 * nx * ny / (nx + ny) * centres;
}

struct Step {
  Members members;  // ascending
  double height = 0.0;
};

// Joins the two nearest parts n - 1 times, looking at all pairs.
std::vector<Step> by_definition(const Distances& d, Linkage linkage) {
  std::vector<Members> parts;
  for (std::uint32_t i = 0; i < d.size(); ++i) parts.push_back({i});
  std::vector<Step> steps;
  while (parts.size() > 1) {
    std::size_t a = 0, b = 1;
    double least = kInf;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = i + 1; j < parts.size(); ++j) {
        const double distance = between(d, parts[i], parts[j], linkage);
        if (distance >= least) continue;
        a = i;
        b = j;
        least = distance;
      }
    }
    parts[a].insert(parts[a].end(), parts[b].begin(), parts[b].end());
    std::sort(parts[a].begin(), parts[a].end());
    steps.push_back({parts[a], least});
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return steps;
}

std::vector<Step> steps_of(const Tree& tree) {
  std::vector<Members> parts;
  for (std::uint32_t i = 0; i < tree.peers; ++i) parts.push_back({i});
  std::vector<Step> steps;
  for (const Merge& merge : tree.merges) {
    Members members = parts[merge.a];
    members.insert(members.end(), parts[merge.b].begin(), parts[merge.b].end());
    std::sort(members.begin(), members.end());
    parts.push_back(members);
    steps.push_back({members, merge.height});
  }
  return steps;
}

void check_form(const Tree& tree) {
  REQUIRE(tree.merges.size() + 1 == std::max(1u, tree.peers));
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < tree.merges.size(); ++i) {
    const Merge& merge = tree.merges[i];
    CHECK(merge.a < merge.b);
    CHECK(merge.b < tree.peers + i);
    CHECK(used.insert(merge.a).second);
    CHECK(used.insert(merge.b).second);
    if (i > 0) CHECK(merge.height >= tree.merges[i - 1].height);
    const auto size = [&](std::uint32_t p) {
      return p < tree.peers ? 1u : tree.merges[p - tree.peers].size;
    };
    CHECK(merge.size == size(merge.a) + size(merge.b));
  }
  if (!tree.merges.empty()) CHECK(tree.merges.back().size == tree.peers);
}

}  // namespace

TEST_CASE("all linkages agree with the definition on 100 random inputs each") {
  for (const Linkage linkage : kAll) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const std::size_t peers = 1 + seed % 40;
      const Distances plain = random_distances(seed, peers);
      const Distances distances = linkage == Linkage::ward ? squared(plain) : plain;
      const Tree tree = agglomerate(distances, linkage);
      check_form(tree);
      const auto want = by_definition(distances, linkage), have = steps_of(tree);
      INFO("linkage " << static_cast<int>(linkage) << ", seed " << seed);
      REQUIRE(have.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        REQUIRE(have[i].members == want[i].members);
        REQUIRE(have[i].height == Approx(want[i].height).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("the order of the peers does not matter but for their numbers") {
  for (const Linkage linkage : kAll) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Distances distances = random_distances(seed, 30);
      const auto order = permutation(seed, 30);
      auto plain = steps_of(agglomerate(distances, linkage));
      const auto mixed = steps_of(agglomerate(permuted(distances, order), linkage));
      INFO("linkage " << static_cast<int>(linkage) << ", seed " << seed);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        for (auto& peer : plain[i].members) peer = order[peer];
        std::sort(plain[i].members.begin(), plain[i].members.end());
        REQUIRE(plain[i].members == mixed[i].members);
        REQUIRE(plain[i].height == Approx(mixed[i].height));
      }
    }
  }
}

TEST_CASE("many equal distances end, in a tree of rising heights") {
  for (const Linkage linkage : kAll) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(seed, "ties");
      Distances distances(24);
      // Tenths round, so that the updates of equal distances differ by an ulp.
      for (std::size_t i = 0; i < 24; ++i) {
        for (std::size_t j = i + 1; j < 24; ++j) distances.set(i, j, 0.1 * (1 + rng.below(3)));
      }
      check_form(agglomerate(distances, linkage));
    }
    Distances equal(50);
    check_form(agglomerate(equal, linkage));
    for (std::size_t i = 0; i < 50; ++i) {
      for (std::size_t j = i + 1; j < 50; ++j) equal.set(i, j, 0.1);
    }
    const Tree tree = agglomerate(equal, linkage);
    check_form(tree);
    CHECK(tree.merges.front().height == 0.1);
    if (linkage != Linkage::ward) CHECK(tree.merges.back().height == Approx(0.1));
  }
}

TEST_CASE("isolated peers and parts without a link are joined last, at infinity") {
  for (const Linkage linkage : kAll) {
    Distances distances = random_distances(7, 10);
    for (std::size_t j = 0; j < 10; ++j) {
      if (j != 0) distances.set(0, j, kInf);
      if (j != 4) distances.set(4, j, kInf);
    }
    const Tree tree = agglomerate(distances, linkage);
    check_form(tree);
    CHECK(tree.finite_merges() == 7);
    CHECK(cut_to_count(tree, 1).count == 3);
    Distances halves(10);  // 0-4 and 5-9 do not know each other
    for (std::size_t i = 0; i < 10; ++i) {
      for (std::size_t j = i + 1; j < 10; ++j) {
        halves.set(i, j, i < 5 && j >= 5 ? kInf : static_cast<double>(i + j));
      }
    }
    CHECK(agglomerate(halves, linkage).finite_merges() == 8);
    CHECK(cut_to_count(agglomerate(halves, linkage), 1).labels ==
          std::vector<std::uint32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
    Distances nothing(6);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = i + 1; j < 6; ++j) nothing.set(i, j, kInf);
    }
    check_form(agglomerate(nothing, linkage));
    CHECK(agglomerate(nothing, linkage).finite_merges() == 0);
  }
}

TEST_CASE("single linkage follows a chain across an unknown pair, complete linkage does not") {
  Distances distances(3);
  distances.set(0, 1, 1.0);
  distances.set(1, 2, 2.0);
  distances.set(0, 2, kInf);
  CHECK(agglomerate(distances, Linkage::single).merges[1].height == 2.0);
  CHECK(agglomerate(distances, Linkage::complete).merges[1].height == kInf);
  CHECK(agglomerate(distances, Linkage::average).merges[1].height == kInf);
  CHECK(agglomerate(distances, Linkage::ward).merges[1].height == kInf);
}

TEST_CASE("pools of none, one and two have trees") {
  for (const Linkage linkage : kAll) {
    CHECK(agglomerate(Distances(0), linkage).merges.empty());
    CHECK(agglomerate(Distances(1), linkage).merges.empty());
    Distances two(2);
    two.set(0, 1, 3.0);
    const Tree tree = agglomerate(two, linkage);
    REQUIRE(tree.merges.size() == 1);
    CHECK(tree.merges[0].a == 0);
    CHECK(tree.merges[0].b == 1);
    CHECK(tree.merges[0].height == 3.0);
    CHECK(tree.merges[0].size == 2);
  }
}
