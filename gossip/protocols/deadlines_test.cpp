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
  CHECK(d.overdue(PeerId(1), 0ms) == Time(limits::kQuietFirst));  // nothing is known at all
  CHECK(d.overdue(PeerId(1), 1ms) == 20ms);
  CHECK(d.overdue(PeerId(1), 100ms) == 1600ms);
  for (int i = 0; i < 50; ++i) d.answered(PeerId(1), 1000ms);
  const Time met = d.overdue(PeerId(1), 1ms);
  CHECK(met == 2002ms);
  CHECK(d.overdue(PeerId(2), 1ms) == met);  // a stranger's as the pool's
  d.stayed_quiet(PeerId(1));
  CHECK(d.overdue(PeerId(1), 1ms) == 2 * met);
  for (int i = 0; i < 100; ++i) d.stayed_quiet(PeerId(1));
  CHECK(d.overdue(PeerId(1), 1ms) == Time(limits::kQuietMost));
}
