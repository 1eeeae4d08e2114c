// SPDX-License-Identifier: Apache-2.0
#include "gossip/peer_table.hpp"

#include "tests/catch.hpp"

using namespace hearsay::gossip;
using State = PeerTable::State;

TEST_CASE(
    "everyone settled means finished, gone or left, and a gone peer that speaks counts again") {
  PeerTable table(PeerId(0), 4);
  CHECK_FALSE(table.all_settled());
  table.finished(PeerId(1));
  table.left(PeerId(2));
  CHECK(table.gone(PeerId(3)));
  CHECK_FALSE(table.gone(PeerId(3)));  // no news
  CHECK(table.all_settled());
  CHECK(table.out_of_reach() == 2);
  CHECK(table.heard(PeerId(3), Time(5)));
  CHECK_FALSE(table.all_settled());
  CHECK(table.out_of_reach() == 1);
  CHECK(table.last_heard(PeerId(3)) == Time(5));
  CHECK_FALSE(table.heard(PeerId(2), Time(6)));  // said goodbye: stays away
  CHECK_FALSE(table.may_merge(PeerId(2)));
  CHECK(table.in_state(State::training) == std::vector<PeerId>{PeerId(3)});
}

TEST_CASE("a suspected peer is not chosen, but the end waits for it until it is gone or heard of") {
  PeerTable table(PeerId(1), 3);
  table.finished(PeerId(0));
  CHECK(table.suspected(PeerId(2)));
  CHECK_FALSE(table.suspected(PeerId(2)));
  CHECK_FALSE(table.may_merge(PeerId(2)));
  CHECK(table.out_of_reach() == 1);
  CHECK_FALSE(table.all_settled());
  CHECK(table.gone(PeerId(2)));
  CHECK(table.all_settled());
  CHECK(table.out_of_reach() == 1);
  CHECK(table.heard(PeerId(2), Time(1)));
  CHECK_FALSE(table.suspected(PeerId(0)));  // has finished: nothing to suspect
}

TEST_CASE("a pool of one is settled from the start") {
  CHECK(PeerTable(PeerId(0), 1).all_settled());
}
