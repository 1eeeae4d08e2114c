// SPDX-License-Identifier: Apache-2.0
#include "gossip/protocols/deadlines.hpp"

#include "gossip/limits.hpp"
#include "tests/catch.hpp"

using namespace hearsay::gossip;
using namespace std::chrono_literals;

TEST_CASE(
    "a partner never met gets a first limit, or eight own mini-batches when those take long") {
  const Deadlines d;
  CHECK(d.quiet(PeerId(1), 1ms) == Time(limits::kQuietFirst));
  CHECK(d.quiet(PeerId(1), 1s) == Time(8s));
  CHECK(d.quiet(PeerId(1), 1h) == Time(limits::kQuietMost));
}

TEST_CASE("limits follow what a partner needed, each on its own") {
  Deadlines d;
  for (int i = 0; i < 50; ++i) {
    d.answered(PeerId(1), 10ms);
    d.answered(PeerId(2), i % 2 == 0 ? 3s : 5s);
  }
  CHECK(d.quiet(PeerId(1), 1ms) == Time(limits::kQuietLeast));
  const Time slow = d.quiet(PeerId(2), 1ms);
  CHECK((slow > 5s && slow < 12s));  // above every answer that came
  const Time stranger = d.quiet(PeerId(3), 1ms);
  CHECK((stranger > slow && stranger <= Time(limits::kQuietMost)));
}

TEST_CASE("a limit that was too short doubles until the partner answers") {
  Deadlines d;
  d.answered(PeerId(1), 10ms);
  const Time before = d.quiet(PeerId(1), 1ms);
  d.stayed_quiet(PeerId(1));
  CHECK(d.quiet(PeerId(1), 1ms) == 2 * before);
  for (int i = 0; i < 100; ++i) d.stayed_quiet(PeerId(1));
  CHECK(d.quiet(PeerId(1), 1ms) == Time(limits::kQuietMost));
  d.answered(PeerId(1), 10ms);
  CHECK(d.quiet(PeerId(1), 1ms) == Time(limits::kQuietLeast));

  CHECK(d.most(PeerId(1), 1ms) == Time(limits::kExchangeLeast));  // it answers within milliseconds
  d.was_too_slow(PeerId(1));
  CHECK(d.most(PeerId(1), 1ms) == 2 * Time(limits::kExchangeLeast));
  for (int i = 0; i < 100; ++i) d.was_too_slow(PeerId(1));
  CHECK(d.most(PeerId(1), 1ms) == Time(limits::kExchangeMostOfAll));
  CHECK(d.most(PeerId(2), 1ms) == Time(limits::kExchangeLeast));  // of a pool that is quick
  CHECK(Deadlines().most(PeerId(2), 1ms) == Time(limits::kExchangeMost));
  // Answers come between two mini-batches, and these take long.
  CHECK(Deadlines().most(PeerId(2), 30s) == 240s);
}

TEST_CASE("an answer is overdue long before its deadline where answers are quick") {
  Deadlines d;
  CHECK(d.overdue(0ms) == Time(limits::kQuietFirst));  // nothing is known at all
  CHECK(d.overdue(1ms) == 20ms);
  CHECK(d.overdue(100ms) == 1600ms);
  for (int i = 0; i < 50; ++i) d.answered(PeerId(1), 1000ms);
  CHECK(d.overdue(1ms) == 2002ms);
  for (int i = 0; i < 6; ++i) d.answered(PeerId(2), 30s);  // some of the newest are late
  CHECK(d.overdue(1ms) == 2002ms);
  for (int i = 0; i < 9; ++i) d.answered(PeerId(1), 15ms);
  CHECK(d.overdue(1ms) == 32ms);
}

TEST_CASE("from the third in a row, overdue answers double the patience, until one comes") {
  Deadlines d;
  for (int by_chance = 0; by_chance < 2; ++by_chance) {
    d.was_overdue();
    CHECK(d.overdue(1ms) == 20ms);
  }
  d.was_overdue();
  CHECK(d.overdue(1ms) == 40ms);
  d.was_overdue();
  CHECK(d.overdue(1ms) == 80ms);
  d.answered(PeerId(1), 700ms);  // on a link that is slow
  CHECK(d.overdue(1ms) == 1402ms);
  for (int i = 0; i < 100; ++i) d.was_overdue();
  CHECK(d.overdue(1ms) == Time(limits::kQuietMost));
}

TEST_CASE("a refusal says that a partner is there, and nothing of how long answers take") {
  Deadlines d;
  d.answered(PeerId(1), 500ms);
  const Time before = d.overdue(1ms), quiet = d.quiet(PeerId(1), 1ms);
  d.stayed_quiet(PeerId(1));
  for (int i = 0; i < 20; ++i) d.refused(PeerId(1));
  CHECK(d.overdue(1ms) == before);
  CHECK(d.quiet(PeerId(1), 1ms) == quiet);
}
