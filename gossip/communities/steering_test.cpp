// SPDX-License-Identifier: Apache-2.0
// From sketches of blocks to partners: two groups of directions are found and preferred, one is not
// split, peers that nothing is known about count as alike, and all of it is kept.
#include "gossip/communities/steering.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "tests/catch.hpp"

namespace hearsay::gossip {
namespace {

using kernels::PeerId;
constexpr std::uint32_t kPeers = 8;

std::shared_ptr<CommunityPlan> plan(std::uint32_t every = 1) {
  auto plan = std::make_shared<CommunityPlan>();
  plan->sketch.buckets = 1024;
  plan->every = every;
  plan->mixing = clustering::Mixing::never;
  plan->outside = 0.1;
  plan->recipe.metric = clustering::Metric::cosine;
  return plan;
}

// What all share, what a group shares, and noise; groups of neighbours.
std::vector<float> block(std::uint32_t peer, std::uint32_t groups, kernels::Rng& noise) {
  kernels::Rng common = kernels::Rng::stream(1, "common");
  kernels::Rng own = kernels::Rng::stream(1, "group", peer / (kPeers / groups));
  std::vector<float> out(1024);
  for (float& v : out)
    v = static_cast<float>(common.normal() + own.normal() + 0.5 * noise.normal());
  return out;
}

struct Pool {
  explicit Pool(std::uint32_t groups, std::shared_ptr<const CommunityPlan> p = plan()) {
    kernels::Rng noise = kernels::Rng::stream(2, "noise");
    for (std::uint32_t i = 0; i < kPeers; ++i) {
      peers.push_back(std::make_unique<Steering>(p, PeerId(i), kPeers, 0));
      peers[i]->add_block(block(i, groups, noise));
    }
  }
  // Peer 0 hears of `count` others, the last ones first.
  void tell(std::uint32_t count) {
    for (std::uint32_t i = kPeers - count; i < kPeers; ++i)
      peers[0]->learn(peers[i]->for_partner(PeerId(0)), PeerId(i), 0);
  }
  std::vector<std::unique_ptr<Steering>> peers;
};

// The row of distances that a round logs; empty where it logs none.
std::vector<std::int64_t> logged_row(const std::vector<Event>& events) {
  for (const Event& event : events) {
    for (const Field& field : event.fields) {
      if (field.key == "distances") return std::get<std::vector<std::int64_t>>(field.value);
    }
  }
  return {};
}

bool names(const std::vector<Event>& events, std::string_view name) {
  for (const Event& event : events) {
    if (event.name == name) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a peer finds the two groups of its pool and prefers its own") {
  Pool pool(2);
  pool.tell(7);
  const std::vector<Event> events = pool.peers[0]->look(1);
  CHECK(names(events, "cluster.updated"));
  CHECK(names(events, "community.changed"));
  CHECK(clustering::numbered(pool.peers[0]->labels()).labels ==
        std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  const std::vector<double> weights = pool.peers[0]->weights(0.5);
  CHECK(weights[0] == 0.0);
  for (const std::size_t i : {1u, 2u, 3u}) CHECK(weights[i] == Approx(0.9 / 3));
  for (const std::size_t i : {4u, 5u, 6u, 7u}) CHECK(weights[i] == Approx(0.1 / 4));
  // What has not changed is not told again.
  const std::vector<Event> again = pool.peers[0]->look(2);
  CHECK(names(again, "cluster.updated"));
  CHECK_FALSE(names(again, "community.changed"));
}

TEST_CASE("peers of one kind stay one community") {
  Pool pool(1);
  pool.tell(7);
  pool.peers[0]->look(1);
  CHECK(clustering::numbered(pool.peers[0]->labels()).count == 1);
  for (std::size_t i = 1; i < kPeers; ++i) CHECK(pool.peers[0]->weights(0.5)[i] == Approx(1.0 / 7));
}

TEST_CASE("whoever is not known counts as one of the own, until it is") {
  Pool pool(2);
  CHECK(pool.peers[0]->look(1).empty());  // nobody known
  pool.tell(4);                           // the other group alone
  pool.peers[0]->learn(pool.peers[1]->for_partner(PeerId(0)), PeerId(1), 0);
  pool.peers[0]->look(1);
  const std::vector<std::uint32_t> before = pool.peers[0]->labels();
  CHECK(clustering::numbered(before).labels == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  // A newcomer of the other group goes there at once.
  Pool late(2);
  for (const std::uint32_t i : {1u, 2u, 3u, 4u, 5u})
    late.peers[0]->learn(late.peers[i]->for_partner(PeerId(0)), PeerId(i), 0);
  late.peers[0]->look(1);
  CHECK(late.peers[0]->labels()[7] == late.peers[0]->labels()[0]);
  late.peers[0]->learn(late.peers[7]->for_partner(PeerId(0)), PeerId(7), 1);
  late.peers[0]->look(2);
  CHECK(late.peers[0]->labels()[7] == late.peers[0]->labels()[4]);
  CHECK(late.peers[0]->labels()[6] == late.peers[0]->labels()[0]);
}

TEST_CASE("rounds are held every so many merges") {
  Pool pool(2, plan(3));
  pool.tell(7);
  CHECK_FALSE(pool.peers[0]->look(1).empty());
  CHECK(pool.peers[0]->look(2).empty());
  CHECK(pool.peers[0]->look(3).empty());
  CHECK_FALSE(pool.peers[0]->look(4).empty());
}

TEST_CASE("the schedule moves the share that goes outside over the run") {
  auto early = plan();
  early->mixing = clustering::Mixing::early;
  Pool pool(2, early);
  pool.tell(7);
  pool.peers[0]->look(1);
  const auto outside = [&](double progress) {
    const std::vector<double> w = pool.peers[0]->weights(progress);
    return w[4] + w[5] + w[6] + w[7];
  };
  CHECK(outside(0.0) == Approx(0.1));
  CHECK(outside(1.0) == Approx(4.0 / 7));
}

TEST_CASE("a round logs how far the others are in thousandths, -1 where nothing is known") {
  Pool pool(2);
  pool.tell(4);  // the other group
  const std::vector<std::int64_t> row = logged_row(pool.peers[0]->look(1));
  REQUIRE(row.size() == kPeers);
  CHECK(row[0] == 0);
  for (const std::size_t i : {1u, 2u, 3u}) CHECK(row[i] == -1);
  for (const std::size_t i : {4u, 5u, 6u, 7u}) {
    CHECK(row[i] > 1000);  // less the mean they are opposite
    CHECK(row[i] <= 2000);
  }
}

TEST_CASE("with a temperature partners are weighed by distance; the unknown are as the average") {
  auto soft = plan();
  soft->temperature = 0.2;
  Pool pool(2, soft);
  for (const double w : pool.peers[0]->weights(0.5)) CHECK((w == 0.0 || w == Approx(1.0 / 7)));
  for (const std::uint32_t i : {1u, 2u, 4u, 5u, 6u})
    pool.peers[0]->learn(pool.peers[i]->for_partner(PeerId(0)), PeerId(i), 0);
  const std::vector<std::int64_t> row = logged_row(pool.peers[0]->look(1));
  const std::vector<double> weights = pool.peers[0]->weights(0.5);
  CHECK(weights[0] == 0.0);
  CHECK(std::log(weights[1] / weights[4]) ==
        Approx(static_cast<double>(row[4] - row[1]) / 200.0).margin(0.01));
  CHECK(weights[1] > 20.0 * weights[4]);
  CHECK(weights[3] == weights[7]);  // neither is known
  CHECK(weights[3] < weights[1]);
  CHECK(weights[3] > weights[4]);
  // Hot at the end, where the schedule says so.
  auto early = plan();
  early->temperature = 0.2;
  early->mixing = clustering::Mixing::early;
  Pool hot(2, early);
  hot.tell(7);
  hot.peers[0]->look(1);
  CHECK(hot.peers[0]->weights(1.0)[4] > 0.8 * hot.peers[0]->weights(1.0)[1]);
}

TEST_CASE("likeness is high within a group, low across, and not known among three") {
  Pool pool(2);
  CHECK_FALSE(pool.peers[0]->likeness(PeerId(1)));
  pool.peers[0]->learn(pool.peers[1]->for_partner(PeerId(0)), PeerId(1), 0);
  pool.peers[0]->learn(pool.peers[4]->for_partner(PeerId(0)), PeerId(4), 0);
  CHECK_FALSE(pool.peers[0]->likeness(PeerId(1)));
  pool.peers[0]->learn(pool.peers[5]->for_partner(PeerId(0)), PeerId(5), 0);
  REQUIRE(pool.peers[0]->likeness(PeerId(1)));
  CHECK(*pool.peers[0]->likeness(PeerId(1)) > 0.6);
  CHECK(*pool.peers[0]->likeness(PeerId(4)) < 0.4);
  CHECK_FALSE(pool.peers[0]->likeness(PeerId(7)));
}

TEST_CASE("blocks that did nothing or are no numbers leave the direction as it was") {
  Steering steering(plan(), PeerId(0), kPeers, 0);
  std::vector<float> sketch(1024, 0.0f);
  steering.add_block(sketch);
  CHECK(steering.for_partner(PeerId(1)).empty());
  sketch[3] = 2.0f;
  steering.add_block(sketch);
  REQUIRE(steering.for_partner(PeerId(1)).size() == 1);
  sketch[4] = std::numeric_limits<float>::infinity();
  steering.add_block(sketch);
  CHECK(steering.for_partner(PeerId(1)).empty());
  // What was, a little less of it, and what is new, at length 1.
  std::vector<float> other(1024, 0.0f);
  other[5] = 1.0f;
  steering.add_block(other);
  const auto sent = steering.for_partner(PeerId(1));
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].value(3) == Approx(1.94 / std::hypot(1.94, 1.0)).epsilon(0.01));
  CHECK(sent[0].value(5) == Approx(1.0 / std::hypot(1.94, 1.0)).epsilon(0.01));
}

TEST_CASE("where communities are given nothing is sketched, sent or looked for") {
  auto given = std::make_shared<CommunityPlan>();
  given->given = {0, 0, 0, 0, 1, 1, 1, 1};
  given->mixing = clustering::Mixing::never;
  given->outside = 0.0;
  Steering steering(given, PeerId(5), kPeers, 0);
  CHECK_FALSE(steering.finds());
  CHECK(given->sketch_values() == 0);
  CHECK(steering.look(9).empty());
  CHECK(steering.for_partner(PeerId(1)).empty());
  CHECK(steering.weights(0.3)[4] == Approx(1.0 / 3));
  CHECK(steering.weights(0.3)[0] == 0.0);
}

TEST_CASE("steering goes on from what was kept") {
  Pool pool(2);
  pool.tell(7);
  pool.peers[0]->look(1);
  Archive out;
  out("steering", *pool.peers[0]);
  Steering again(plan(), PeerId(0), kPeers, 0);
  Archive in(out.json(), out.arrays());
  in("steering", again);
  CHECK(again.labels() == pool.peers[0]->labels());
  CHECK(again.weights(0.5) == pool.peers[0]->weights(0.5));
  kernels::Rng noise = kernels::Rng::stream(9, "more");
  const std::vector<float> more = block(0, 2, noise);
  again.add_block(more);
  pool.peers[0]->add_block(more);
  CHECK(again.for_partner(PeerId(3))[0].values->bytes ==
        pool.peers[0]->for_partner(PeerId(3))[0].values->bytes);
  auto soft = plan();
  soft->temperature = 0.2;
  Steering resumed(soft, PeerId(0), kPeers, 0), kept(soft, PeerId(0), kPeers, 0);
  Archive of_row(out.json(), out.arrays());
  of_row("steering", resumed);
  CHECK(resumed.weights(0.5)[1] > 20.0 * resumed.weights(0.5)[4]);
  for (const double wrong : {-0.5, 2.5}) {
    Archive::Json json = out.json();
    json["steering"]["row"][3] = wrong;
    Archive bad_row(json, out.arrays());
    CHECK_THROWS_AS(bad_row("steering", kept), ArchiveFault);
  }
  Archive::Json before = out.json();  // of a program that kept no distances
  before["steering"].erase("row");
  Archive old(before, out.arrays());
  old("steering", kept);
  CHECK(kept.labels() == pool.peers[0]->labels());
  Archive::Json cut = out.json();
  cut["steering"]["communities"]["labels"].erase(0);
  Archive bad(cut, out.arrays());
  CHECK_THROWS_AS(bad("steering", again), ArchiveFault);
}

}  // namespace hearsay::gossip
