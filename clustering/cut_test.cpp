// SPDX-License-Identifier: Apache-2.0
#include "clustering/cut.hpp"

#include <limits>

#include "clustering/silhouette.hpp"
#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;
using namespace hearsay::clustering::testing;

namespace {

using Labels = std::vector<std::uint32_t>;

Split by_silhouette(const Distances& distances, const SilhouetteRule& rule = {}) {
  return cut_by_silhouette(agglomerate(distances, Linkage::average), distances, rule);
}

double by_definition(const Distances& d, const Labels& labels) {
  double sum = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::vector<double> totals(8), counts(8);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (j == i) continue;
      totals[labels[j]] += d(i, j);
      ++counts[labels[j]];
    }
    if (counts[labels[i]] == 0.0) continue;
    double b = 1e300;
    for (std::size_t c = 0; c < 8; ++c) {
      if (c != labels[i] && counts[c] > 0.0) b = std::min(b, totals[c] / counts[c]);
    }
    const double a = totals[labels[i]] / counts[labels[i]];
    sum += (b - a) / std::max(a, b);
  }
  return sum / static_cast<double>(labels.size());
}

}  // namespace

TEST_CASE("a cut to a count has that many parts, for every count and linkage") {
  for (const Linkage linkage :
       {Linkage::single, Linkage::complete, Linkage::average, Linkage::ward}) {
    const Tree tree = agglomerate(random_distances(3, 25), linkage);
    for (std::uint32_t count = 1; count <= 25; ++count) {
      const Partition partition = cut_to_count(tree, count);
      CHECK(partition.count == count);
      CHECK(numbered(partition.labels) == partition);
      if (count < 25) CHECK(cut_at_height(tree, tree.merges[24 - count].height).count == count);
    }
    CHECK(cut_to_count(tree, 99).count == 25);
    CHECK(cut_at_height(tree, -1.0).count == 25);
    CHECK(cut_at_height(tree, std::numeric_limits<double>::infinity()).count == 1);
  }
}

TEST_CASE("a cut at a height leaves together what single linkage joins below it") {
  const Tree tree = agglomerate(on_line({0, 10, 1, 11, 2, 30}), Linkage::single);
  CHECK(cut_at_height(tree, 1.0).labels == Labels{0, 1, 0, 1, 0, 2});
  CHECK(cut_at_height(tree, 0.99).count == 6);
  CHECK(cut_at_height(tree, 8.0).labels == Labels{0, 0, 0, 0, 0, 1});
}

TEST_CASE("the gap is the greatest ratio of heights, and too small a one is none") {
  const Tree two = agglomerate(on_line({0, 1, 2.1, 20, 21, 22.1}), Linkage::average);
  CHECK(cut_at_gap(two).labels == Labels{0, 0, 0, 1, 1, 1});
  const Tree even = agglomerate(on_line({0, 1, 2.1, 3.3, 4.6}), Linkage::single);  // ratios < 1.1
  CHECK(cut_at_gap(even).count == 1);
  CHECK(cut_at_gap(even, 1.05).count > 1);
  const Tree copies = agglomerate(on_line({5, 5, 5, 9, 9, 9}), Linkage::average);
  CHECK(cut_at_gap(copies).labels == Labels{0, 0, 0, 1, 1, 1});  // above equal models
  const Tree equal = agglomerate(on_line({5, 5, 5, 5}), Linkage::average);
  CHECK(cut_at_gap(equal).count == 1);
  CHECK(cut_at_gap(agglomerate(on_line({0, 1}), Linkage::average)).count == 1);
}

TEST_CASE("the gap is looked for among the last 16 merges only") {
  // 20 pairs 1 apart; their joins grow by 5 %: the ratio between pairs and joins lies too deep.
  std::vector<double> points;
  double at = 0.0, step = 50.0;
  for (int pair = 0; pair < 20; ++pair) {
    points.push_back(at);
    points.push_back(at + 1.0);
    at += step;
    step *= 1.05;
  }
  const Tree tree = agglomerate(on_line(points), Linkage::single);
  CHECK(cut_at_gap(tree).count == 1);
}

TEST_CASE("silhouettes follow the definition") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Distances distances = random_distances(seed, 20);
    hearsay::kernels::Rng rng = hearsay::kernels::Rng::stream(seed, "labels");
    Labels labels;
    for (int i = 0; i < 20; ++i) labels.push_back(rng.below(5));
    CHECK(silhouette(distances, numbered(labels)) == Approx(by_definition(distances, labels)));
  }
}

TEST_CASE("silhouettes of what has none: one part, singletons, equal models, one peer") {
  const Distances distances = random_distances(1, 6);
  CHECK(silhouette(distances, numbered(Labels(6, 0))) == 0.0);
  CHECK(silhouette(distances, numbered(Labels{0, 1, 2, 3, 4, 5})) == 0.0);
  CHECK(silhouette(Distances(6), numbered(Labels{0, 0, 0, 1, 1, 1})) == 0.0);
  CHECK(silhouette(Distances(1), numbered(Labels{0})) == 0.0);
  CHECK(silhouette(Distances(0), {}) == 0.0);
  CHECK(silhouette(on_line({1, 1, 2, 2}), numbered(Labels{0, 0, 1, 1})) == 1.0);
}

TEST_CASE("the best split has the best silhouette of all cuts that are allowed") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Distances distances = random_distances(seed, 24, 2);
    const Tree tree = agglomerate(distances, Linkage::complete);
    SilhouetteRule rule;
    rule.least_size = 1;  // so that cuts are taken as they are
    double best = 0.0;
    for (std::uint32_t count = 2; count <= 8; ++count) {
      best = std::max(best, silhouette(distances, cut_to_count(tree, count)));
    }
    const Split split = best_split(tree, distances, rule);
    CHECK(split.silhouette == Approx(best));
    CHECK(silhouette(distances, split.partition) == Approx(best));
  }
}

TEST_CASE("a peer on its own joins the nearest community and does not hide the others") {
  const Distances distances = on_line({0, 1, 2, 40, 41, 42, 55});
  const Split split = by_silhouette(distances);
  CHECK(split.partition.labels == Labels{0, 0, 0, 1, 1, 1, 1});
  CHECK(split.silhouette == Approx(silhouette(distances, split.partition)));
  // This one comes off before the groups part.
  const Distances far = on_line({0, 1, 2, 40, 41, 42, 100});
  CHECK(cut_to_count(agglomerate(far, Linkage::average), 2).labels == Labels{0, 0, 0, 0, 0, 0, 1});
  CHECK(by_silhouette(far).partition.labels == Labels{0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("communities have two peers at least, and there are n / 2 at most") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t peers = 2 + seed;
    const Distances distances = random_distances(seed, peers);
    SilhouetteRule rule;
    rule.least = -1.0;
    const Split split = by_silhouette(distances, rule);
    CHECK(split.partition.count <= std::max<std::size_t>(1, std::min<std::size_t>(8, peers / 2)));
    for (const std::uint32_t size : part_sizes(split.partition)) CHECK(size >= 2);
  }
}

TEST_CASE("too low a silhouette means one community, and is still told") {
  const Distances distances = random_distances(5, 30, 40);
  const Split split = by_silhouette(distances);
  CHECK(split.partition.count == 1);
  CHECK(split.silhouette < 0.15);
  CHECK(split.silhouette != 0.0);
}

TEST_CASE("isolated peers stay alone and change nothing for the others") {
  Distances distances = on_line({0, 7, 1, 2, 40, 41, 9, 42});
  isolate(distances, 1);
  isolate(distances, 6);
  CHECK(by_silhouette(distances).partition.labels == Labels{0, 1, 0, 0, 2, 2, 3, 2});
  CHECK(by_silhouette(distances).silhouette ==
        Approx(by_silhouette(on_line({0, 1, 2, 40, 41, 42})).silhouette));
  const Tree tree = agglomerate(distances, Linkage::average);
  CHECK(cut_to_count(tree, 2).labels == Labels{0, 1, 0, 0, 2, 2, 3, 2});
  CHECK(cut_at_gap(tree).labels == Labels{0, 1, 0, 0, 2, 2, 3, 2});
  for (std::size_t peer = 0; peer < 8; ++peer) isolate(distances, peer);
  CHECK(by_silhouette(distances).partition.count == 8);
}

TEST_CASE("pools of none to three are one community") {
  for (std::size_t peers = 0; peers <= 3; ++peers) {
    CHECK(by_silhouette(random_distances(1, peers)).partition.labels == Labels(peers, 0));
  }
}
