// SPDX-License-Identifier: Apache-2.0
#include "clustering/communities.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "clustering/discover.hpp"
#include "clustering/test_support.hpp"
#include "tests/catch.hpp"

using namespace hearsay::clustering;
using namespace hearsay::clustering::testing;

namespace {

using Labels = std::vector<std::uint32_t>;

Labels labels_of(const Communities& communities) {
  return {communities.labels().begin(), communities.labels().end()};
}

Round update(Communities& communities, const Rows& rows, const Recipe& recipe = {}) {
  const Discovery found = discover(spans(rows), recipe);
  return communities.update(found.partition, found.distances);
}

Partition parts(const Labels& labels) { return numbered(labels); }

}  // namespace

TEST_CASE("labels stay with their communities however the proposals number them") {
  Communities communities(16);
  update(communities, planted(1, 16, 4, 256, 1.0));
  const Labels first = labels_of(communities);
  CHECK(numbered(first).labels == planted_labels(16, 4));
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    const Round round = update(communities, planted(seed, 16, 4, 256, 1.0));
    CHECK(round.accepted);
    CHECK(round.agreement.adjusted_rand == Approx(1.0));
    CHECK(labels_of(communities) == first);
  }
  CHECK(communities.size(first[0]) == 4);
  CHECK(communities.size(77) == 0);
  CHECK(communities.state().moves == 0);
  CHECK(communities.state().rounds == 11);
}

TEST_CASE("a peer that changes sides moves in the second round, and only it") {
  const Labels groups = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  const Distances before = on_line({0, 1, 2, 3, 4, 50, 51, 52, 53, 54});
  const Distances after = on_line({0, 1, 2, 3, 55, 50, 51, 52, 53, 54});
  Labels moved = groups;
  moved[4] = 1;
  Communities communities(10);
  communities.update(parts(groups), before);
  const Round first = communities.update(parts(moved), after);
  CHECK(first.accepted);
  CHECK(first.proposed_silhouette > first.present_silhouette);
  CHECK(first.moved == 0);
  CHECK(labels_of(communities) == groups);
  CHECK(communities.update(parts(moved), after).moved == 1);
  CHECK(labels_of(communities) == moved);
  CHECK(communities.state().moves == 1);
}

TEST_CASE("a peer between the communities does not move, however often it is asked") {
  // 11 peers around 5, 12 around 49.5, and the last one between.
  const auto with_last_at = [](double x) {
    std::vector<double> points;
    for (int i = 0; i <= 10; ++i) points.push_back(i);
    for (int i = 44; i <= 55; ++i) points.push_back(i);
    points.push_back(x);
    return on_line(points);
  };
  Labels left(24, 1);
  std::fill(left.begin(), left.begin() + 11, 0u);
  Labels right = left;
  left[23] = 0;
  const Distances close = with_last_at(28);  // 23 from the left, 21.5 from the right: by 6.5 %
  Communities communities(24);
  communities.update(parts(left), close);
  for (int round = 0; round < 6; ++round) {
    CHECK(communities.update(parts(right), close).accepted);
    CHECK(labels_of(communities) == left);
  }
  const Distances closer = with_last_at(30);  // 25 and 19.5: by 22 %
  communities.update(parts(right), closer);
  communities.update(parts(left), closer);  // in between: the count begins again
  communities.update(parts(right), closer);
  CHECK(labels_of(communities) == left);
  communities.update(parts(right), closer);
  CHECK(labels_of(communities) == right);
}

TEST_CASE("a community that parts gives one half a new label after two rounds") {
  Communities communities(12);
  update(communities, noise(1, 12, 256));
  CHECK(labels_of(communities) == Labels(12, 0));
  CHECK(update(communities, planted(1, 12, 2, 256, 1.0)).moved == 0);
  CHECK(labels_of(communities) == Labels(12, 0));
  const Round round = update(communities, planted(2, 12, 2, 256, 1.0));
  CHECK(round.accepted);
  CHECK(round.moved == 6);
  CHECK(communities.partition().labels == planted_labels(12, 2));
  CHECK(communities.size(0) == 6);
  CHECK(communities.size(1) == 6);
  CHECK(communities.state().next_label == 2);
}

TEST_CASE("communities that have become one are given up after two rounds, and labels not reused") {
  Communities communities(12);
  update(communities, planted(1, 12, 2, 256, 1.0));
  update(communities, noise(2, 12, 256));
  CHECK(communities.partition().count == 2);
  update(communities, noise(3, 12, 256));
  CHECK(communities.partition().count == 1);
  const std::uint32_t left = communities.label(0);
  update(communities, planted(4, 12, 2, 256, 1.0));
  update(communities, planted(5, 12, 2, 256, 1.0));
  CHECK(communities.partition().labels == planted_labels(12, 2));
  CHECK(communities.size(left) == 6);
  CHECK(communities.size(2) == 6);
  CHECK(communities.size(1 - left) == 0);
}

TEST_CASE("communities outlast a difference that has nearly been learned") {
  Communities communities(12);
  update(communities, planted(1, 12, 2, 256, 1.0));
  const Labels before = labels_of(communities);
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    const Round round = update(communities, planted(seed, 12, 2, 256, 0.35));
    CHECK(round.proposed_silhouette == Inertia{}.given_up);  // too little to part for
    CHECK(round.present_silhouette > 0.02);
    CHECK(labels_of(communities) == before);
  }
}

TEST_CASE("one round of nonsense changes nothing") {
  Communities communities(16);
  update(communities, planted(1, 16, 2, 256, 1.0));
  const Labels before = labels_of(communities);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    update(communities, planted(seed, 16, 4, 256, 1.0));  // other groups for one round
    update(communities, planted(seed, 16, 2, 256, 1.0));
    CHECK(labels_of(communities) == before);
  }
}

TEST_CASE("noise does not make labels flap, although its cuts do") {
  Recipe forced;
  forced.cut = CutRule::count;
  forced.linkage = Linkage::ward;
  for (std::uint64_t run = 0; run < 5; ++run) {
    Communities calm(16), eager(16, {-2.0, -2.0, 1e9, 1, 0.15});
    double agreement_of_cuts = 0.0;
    Partition last = parts(Labels(16, 0));
    for (std::uint64_t round = 0; round < 40; ++round) {
      const Rows rows = noise(100 * run + round, 16, 1024);
      const Discovery found = discover(spans(rows), forced);
      calm.update(found.partition, found.distances);
      eager.update(found.partition, found.distances);
      if (round > 0) agreement_of_cuts += agreement(found.partition, last).adjusted_rand / 39;
      last = found.partition;
    }
    CHECK(std::fabs(agreement_of_cuts) < 0.1);
    CHECK(calm.state().moves == 0);
    CHECK(eager.state().moves > 100);  // without inertia
  }
}

TEST_CASE("weak communities keep their members through noise of every round") {
  // Distances across are some 1.3 times those inside: proposals err now and then.
  int wrong = 0;
  for (std::uint64_t run = 0; run < 5; ++run) {
    Communities communities(16);
    communities.update(parts(planted_labels(16, 2)), on_line(std::vector<double>(16)));
    for (std::uint64_t round = 0; round < 40; ++round) {
      const Rows rows = planted(100 * run + round, 16, 2, 32, 0.9);
      const Discovery found = discover(spans(rows), {});
      communities.update(found.partition, found.distances);
      wrong += found.partition.labels == planted_labels(16, 2) ? 0 : 1;
    }
    CHECK(communities.partition().labels == planted_labels(16, 2));
    CHECK(communities.state().moves == 0);
  }
  CHECK(wrong > 5);
  WARN(wrong << " of 200 proposals were wrong");
}

TEST_CASE("a peer that is not known keeps its label, and the others are judged without it") {
  const Labels groups = {0, 0, 0, 0, 1, 1, 1, 1};
  Distances distances = on_line({0, 1, 2, 3, 50, 51, 52, 53});
  Communities communities(8);
  communities.update(parts(groups), distances);
  isolate(distances, 2);
  const Labels proposed = {0, 0, 2, 0, 1, 1, 1, 1};
  for (int round = 0; round < 3; ++round) {
    const Round now = communities.update(parts(proposed), distances);
    CHECK(now.agreement.adjusted_rand == 1.0);
    CHECK(labels_of(communities) == groups);
  }
  for (std::size_t peer = 0; peer < 8; ++peer) isolate(distances, peer);
  CHECK(communities.update(parts({0, 1, 2, 3, 4, 5, 6, 7}), distances).moved == 0);
  CHECK(labels_of(communities) == groups);
}

TEST_CASE("a peer first known later joins its community after two rounds") {
  Distances distances = on_line({0, 1, 2, 3, 50, 51, 52, 53});
  const Distances all = distances;
  isolate(distances, 2);
  Communities communities(8);
  communities.update(parts({0, 0, 2, 0, 1, 1, 1, 1}), distances);
  const Labels groups = {0, 0, 0, 0, 1, 1, 1, 1};
  communities.update(parts(groups), all);
  CHECK(communities.label(2) == 1);  // numbered by first appearance: 0, 0, 1, 0, 2, ...
  communities.update(parts(groups), all);
  CHECK(communities.label(2) == communities.label(0));
  CHECK(communities.size(1) == 0);
}

TEST_CASE("a state that is kept goes on where it was; one of another pool is refused") {
  const Rows groups = planted(1, 12, 2, 256, 1.0);
  Communities whole(12);
  update(whole, noise(1, 12, 256));
  update(whole, groups);  // half-way through a change
  Communities again(12);
  REQUIRE(again.restore(whole.state()));
  CHECK(again.state() == whole.state());
  CHECK(update(again, groups).moved == 6);
  CHECK(update(whole, groups).moved == 6);
  CHECK(again.state() == whole.state());
  Communities smaller(11);
  const CommunitiesState before = smaller.state();
  CHECK_FALSE(smaller.restore(whole.state()));
  CommunitiesState wrong = before;
  wrong.labels[3] = wrong.next_label;
  CHECK_FALSE(smaller.restore(wrong));
  wrong = before;
  wrong.streaks.clear();
  CHECK_FALSE(smaller.restore(wrong));
  CHECK(smaller.state() == before);
}

TEST_CASE("pools of none and one have rounds") {
  for (const std::size_t peers : {0u, 1u}) {
    Communities communities(peers);
    for (int round = 0; round < 3; ++round) {
      CHECK(communities.update(parts(Labels(peers, 0)), Distances(peers)).moved == 0);
    }
    CHECK(communities.partition().count == peers);
  }
}
