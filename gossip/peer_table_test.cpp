// SPDX-License-Identifier: Apache-2.0
#include "gossip/peer_table.hpp"

#include "gossip/limits.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace std::chrono_literals;
using hearsay::kernels::Rng;
using News = PeerTable::News;
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
  CHECK(table.heard(PeerId(3), Time(5)) == News::back);
  CHECK_FALSE(table.all_settled());
  CHECK(table.out_of_reach() == 1);
  CHECK(table.last_heard(PeerId(3)) == Time(5));
  CHECK(table.heard(PeerId(2), Time(6)) == News::none);  // said goodbye: stays away
  CHECK_FALSE(table.may_merge(PeerId(2), Time(6)));
  CHECK(table.in_state(State::training) == std::vector<PeerId>{PeerId(3)});
}

TEST_CASE("a suspected peer is not chosen, but the end waits for it until it is gone or heard of") {
  Rng rng = Rng::stream(1, "test");
  PeerTable table(PeerId(1), 3);
  table.finished(PeerId(0));
  CHECK(table.failed(PeerId(2), 1s, rng));
  CHECK_FALSE(table.failed(PeerId(2), 1s, rng));
  CHECK_FALSE(table.may_merge(PeerId(2), 1s));
  CHECK(table.out_of_reach() == 1);
  CHECK_FALSE(table.all_settled());
  CHECK(table.gone(PeerId(2)));
  CHECK(table.all_settled());
  CHECK(table.out_of_reach() == 1);
  CHECK(table.heard(PeerId(2), 2s) == News::back);
  CHECK_FALSE(table.failed(PeerId(0), 2s, rng));  // has finished: nothing to suspect
}

TEST_CASE("a pool of one is settled from the start") {
  CHECK(PeerTable(PeerId(0), 1).all_settled());
}

TEST_CASE("a partner that fails again and again is left alone for longer and longer") {
  Rng rng = Rng::stream(1, "test");
  PeerTable table(PeerId(0), 3);
  Time now = 1s, longest{0};
  for (int failure = 1; failure <= 12; ++failure) {
    table.failed(PeerId(1), now, rng);
    table.heard(PeerId(1), now);
    Time wait{0};
    while (!table.may_merge(PeerId(1), now + wait)) wait += 10ms;
    CHECK((failure == 1) == (wait == 0ms));  // once may happen to anybody
    CHECK(wait <= Time(limits::kAvoidMost) * 3 / 2 + 10ms);
    longest = std::max(longest, wait);
    now += wait;
  }
  CHECK(longest >= Time(limits::kAvoidMost));
  CHECK(table.may_merge(PeerId(2), 1s));  // the budget is each peer's own
  table.answered(PeerId(1));
  CHECK(table.may_merge(PeerId(1), Time{0}));
}

TEST_CASE("silence is judged by how often a peer gives signs of life") {
  PeerTable table(PeerId(0), 3);
  Time now{0};
  for (std::uint32_t beat = 1; beat <= 200; ++beat) {  // p01 every second, p02 every four
    now += 1s;
    table.learn({PeerId(1), 0, beat}, now);
    if (beat % 4 == 0) table.learn({PeerId(2), 0, beat}, now);
    REQUIRE(table.silences(now).empty());
  }
  std::vector<std::pair<PeerId, Time>> suspected, gone;
  const Time last = now;
  for (; now < last + 120s; now += 100ms) {
    for (const auto& change : table.silences(now))
      (change.to == State::gone ? gone : suspected).emplace_back(change.peer, now - last);
  }
  REQUIRE(suspected.size() == 2);  // one change each, not one a look
  REQUIRE(gone.size() == 2);
  CHECK(suspected[0].first == PeerId(1));
  CHECK((suspected[0].second >= 5s && suspected[0].second < 6s));
  CHECK((suspected[1].second >= 18s && suspected[1].second < 22s));
  CHECK((gone[0].second >= 19s && gone[0].second < 23s));
  CHECK((gone[1].second >= 70s && gone[1].second < 85s));
  CHECK(table.learn({PeerId(1), 0, 200}, now) == News::none);  // old news of a peer that is gone
  CHECK(table.learn({PeerId(1), 0, 201}, now) == News::back);
}

TEST_CASE("that others hear a peer does not end first-hand trouble with it") {
  Rng rng = Rng::stream(1, "test");
  PeerTable table(PeerId(0), 2);
  table.failed(PeerId(1), 1s, rng);
  CHECK(table.learn({PeerId(1), 0, 9}, 2s) == News::none);
  CHECK(table.state(PeerId(1)) == State::suspected);
  CHECK(table.heard(PeerId(1), 3s) == News::back);
}

TEST_CASE("a later start of a peer is another one, and news of earlier starts are old") {
  Rng rng = Rng::stream(1, "test");
  PeerTable table(PeerId(0), 3);
  table.learn({PeerId(1), 0, 500}, 1s);
  table.failed(PeerId(1), 1s, rng);
  table.gone(PeerId(1));
  CHECK(table.learn({PeerId(1), 1, 0}, 2s) == News::joined);
  CHECK(table.incarnation(PeerId(1)) == 1);
  CHECK(table.may_merge(PeerId(1), 2s));
  CHECK(table.learn({PeerId(1), 0, 501}, 3s) == News::none);  // a late word about the dead one
  CHECK(table.learn({PeerId(1), 0, Pulse::kLeft}, 3s) == News::none);
  CHECK(table.state(PeerId(1)) == State::training);
  CHECK(table.learn({PeerId(1), 1, Pulse::kLeft}, 4s) == News::none);
  CHECK(table.state(PeerId(1)) == State::left);
  CHECK(table.learn({PeerId(1), 2, 1}, 5s) == News::joined);
  CHECK(table.learn({PeerId(0), 1, 0}, 5s) == News::superseded);
  CHECK(table.learn({PeerId(9), 1, 0}, 5s) == News::none);
}

TEST_CASE("places that nobody has taken are no partners and hold nobody up") {
  PeerTable table(PeerId(0), 4, 0, {true, true, false, false});
  CHECK(table.present() == 2);
  CHECK(table.out_of_reach() == 2);
  CHECK_FALSE(table.may_merge(PeerId(3), 1s));
  CHECK_FALSE(table.gone(PeerId(3)));  // cannot be lost before it came
  table.finished(PeerId(1));
  CHECK(table.all_settled());
  CHECK(table.learn({PeerId(2), 0, 0}, 1s) == News::joined);
  CHECK(table.heard(PeerId(3), 1s) == News::joined);
  CHECK(table.present() == 4);
  CHECK_FALSE(table.all_settled());
}

TEST_CASE("pulses take turns, so that news of everybody gets round") {
  PeerTable table(PeerId(3), 100);
  std::vector<int> seen(100, 0);
  for (int frame = 0; frame < 30; ++frame) {
    table.beat();
    const auto pulses = table.pulses(limits::kPulses);
    REQUIRE(pulses.size() == limits::kPulses);
    CHECK(pulses[0] == Pulse{PeerId(3), 0, static_cast<std::uint32_t>(frame + 1)});
    for (const Pulse& pulse : pulses) ++seen[pulse.peer.value];
  }
  CHECK(seen[3] == 30);
  seen[3] = 4;
  for (const int count : seen) CHECK((count == 4 || count == 5));
}

TEST_CASE("unreachable peers are asked again, less and less often, and only they") {
  Rng rng = Rng::stream(1, "test");
  PeerTable table(PeerId(0), 4);
  table.gone(PeerId(1));
  table.failed(PeerId(2), 0s, rng);
  std::vector<int> asked(4, 0);
  for (Time now{0}; now < 60s; now += 100ms) {
    for (const PeerId peer : table.retries(now, rng)) ++asked[peer.value];
  }
  CHECK((asked[1] >= 6 && asked[1] <= 10));
  CHECK((asked[2] >= 6 && asked[2] <= 10));
  CHECK(asked[0] + asked[3] == 0);
  table.heard(PeerId(1), 60s);
  table.left(PeerId(2));
  for (Time now = 60s; now < 120s; now += 100ms) CHECK(table.retries(now, rng).empty());
}

TEST_CASE("who has slept itself blames nobody") {
  PeerTable table(PeerId(0), 2);
  table.learn({PeerId(1), 0, 1}, 1s);
  table.excuse(60s);
  CHECK(table.silences(65s).empty());
  CHECK(table.silences(67s).size() == 1);
}

TEST_CASE("a table survives being kept") {
  Rng rng = Rng::stream(1, "test");
  PeerTable table(PeerId(1), 5, 2, {true, true, true, true, false});
  table.finished(PeerId(0));
  table.failed(PeerId(2), 3s, rng);
  table.failed(PeerId(2), 4s, rng);
  table.busy(PeerId(3), 4s, rng);
  table.beat();
  table.pulses(3);
  Archive kept;
  kept("table", table);
  PeerTable again(PeerId(1), 5);
  Archive loaded(kept.json(), kept.arrays());
  loaded("table", again);
  Archive twice;
  twice("table", again);
  CHECK(twice.json() == kept.json());
  CHECK(again.out_of_reach() == table.out_of_reach());
  CHECK(again.present() == 4);
  PeerTable smaller(PeerId(1), 4);
  Archive wrong(kept.json(), kept.arrays());
  CHECK_THROWS_AS(wrong("table", smaller), ArchiveFault);
}

TEST_CASE("in a pool of thousands only those heard of are kept, and silence finds all of them") {
  constexpr std::uint32_t kPeers = 4000;
  PeerTable table(PeerId(5), kPeers);
  CHECK(table.pulses(16).size() == 1);  // nothing to say of others yet
  CHECK(table.heard(PeerId(3999), 1s) == News::none);
  CHECK(table.learn({PeerId(17), 0, 3}, 2s) == News::none);
  const auto pulses = table.pulses(16);
  REQUIRE(pulses.size() == 3);
  CHECK(pulses[1].peer == PeerId(17));
  CHECK(pulses[1].beat == 3);
  CHECK(pulses[2].peer == PeerId(3999));
  CHECK(table.may_merge(PeerId(1234), 2s));
  table.finished(PeerId(1234));
  CHECK(table.in_state(State::finished) == std::vector<PeerId>{PeerId(1234)});
  CHECK(table.in_state(State::training).size() == kPeers - 2);
  table.excuse(10s);
  CHECK(table.last_heard(PeerId(2000)) == 10s);
  CHECK(table.silences(60s).empty());
  const auto silent = table.silences(20000s);
  CHECK(silent.size() == kPeers - 1);
  CHECK(table.all_settled());
  CHECK(table.out_of_reach() == kPeers - 1);
}
