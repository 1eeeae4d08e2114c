// SPDX-License-Identifier: Apache-2.0
#include "gossip/votes.hpp"

#include "tests/catch.hpp"

using namespace hearsay::gossip;

TEST_CASE("votes grow older with merges and die unless renewed") {
  VoteTable table(PeerId(0), 8);
  CHECK(table.age_limit() == 6);
  table.learn(std::vector<Vote>{{PeerId(3), 0}, {PeerId(4), 5}, {PeerId(9), 0}, {PeerId(5), 7}});
  CHECK(table.fresh() == 2);  // peer 9 does not exist, 5 is too old
  table.grow_older();
  CHECK(table.fresh() == 2);
  table.grow_older();
  CHECK(table.fresh() == 1);
  table.learn(std::vector<Vote>{{PeerId(3), 0}});
  for (int i = 0; i < 6; ++i) table.grow_older();
  CHECK(table.fresh() == 1);
  table.grow_older();
  CHECK(table.fresh() == 0);
}

TEST_CASE("the own vote never ages, is withdrawn at will, and nobody else can cast it") {
  VoteTable table(PeerId(2), 4);
  table.learn(std::vector<Vote>{{PeerId(2), 0}});
  CHECK(table.fresh() == 0);
  table.cast(true);
  for (int i = 0; i < 50; ++i) table.grow_older();
  CHECK(table.fresh() == 1);
  table.cast(false);
  CHECK(table.fresh() == 0);
}

TEST_CASE("frames carry the youngest votes first") {
  VoteTable table(PeerId(0), 16);
  table.cast(true);
  table.learn(std::vector<Vote>{{PeerId(7), 4}, {PeerId(3), 1}, {PeerId(9), 2}});
  const auto votes = table.youngest(3);
  REQUIRE(votes.size() == 3);
  CHECK(votes[0].peer == PeerId(0));
  CHECK(votes[1].peer == PeerId(3));
  CHECK(votes[2].peer == PeerId(9));
}
