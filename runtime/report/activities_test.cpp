// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/activities.hpp"

#include "runtime/report/report_testkit.hpp"
#include "runtime/report/spread.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime::report {
namespace {

std::vector<Activity> kinds_of(const Activities& all) {
  std::vector<Activity> kinds;
  for (const Span& span : all.spans) kinds.push_back(span.activity);
  return kinds;
}

}  // namespace

TEST_CASE("spans tell training, waiting, slowness and answering apart") {
  TestLog log;
  log.add(0.0, "p00", "peer.joined", {{"inc", 0}});
  log.block(1.0, "p00", 100, 10, 0.1);  // 0 to 1
  log.block(3.0, "p00", 200, 10, 0.1);  // waited from 1 to 2
  log.block(6.0, "p00", 300, 10, 0.3);  // three times as slow
  log.add(7.0, "p00", "peer.left", {{"reason", "finished"}});
  const RunFacts facts = facts_of({log.log()}, {"p00"});
  const Activities all = activities_of(facts, 100);
  REQUIRE(kinds_of(all) == std::vector<Activity>{Activity::training, Activity::waiting,
                                                 Activity::training, Activity::slow,
                                                 Activity::serving});
  double at_s = 0.0;
  for (const Span& span : all.spans) {  // no hole, no overlap
    CHECK(span.begin_s == Approx(at_s));
    at_s = span.end_s;
  }
  CHECK(at_s == Approx(7.0));
}

TEST_CASE("who dies in a block has not finished it") {
  TestLog log;
  log.add(0.0, "p00", "peer.joined", {{"inc", 0}}).block(1.0, "p00", 100, 10, 0.1);
  log.add(1.5, "p00", "partner.chosen", {{"to", "p01"}});
  log.add(2.0, "p01", "peer.lost", {{"who", "p00"}, {"reason", "connection lost"}});
  const RunFacts facts = facts_of({log.log()}, {"p00", "p01"});
  const Activities all = activities_of(facts, 100);
  REQUIRE(all.spans.size() == 2);
  CHECK(all.spans[1].activity == Activity::unfinished);
  CHECK(facts.is_dead(0));
  CHECK_FALSE(facts.is_dead(1));
}

TEST_CASE("many blocks are joined, and their number is said") {
  TestLog log;
  for (int i = 1; i <= 100; ++i) log.block(i, "p00", i * 10, 10, 0.1);
  const Activities all = activities_of(facts_of({log.log()}, {"p00"}), 10);
  CHECK(all.blocks_a_span == 10);
  CHECK(all.spans.size() <= 11);
}

TEST_CASE("knowledge travels with models as they were when they were sent") {
  TestLog log;
  log.send(1.0, "p01", "p02", 0);  // before p01 has heard of p00
  log.send(1.0, "p00", "p01", 0).merge(2.0, "p01", "p00", 0);
  log.merge(3.0, "p02", "p01", 0);
  RunFacts facts = facts_of({log.log()}, {"p00", "p01", "p02"});
  Spread spread = spread_of(facts);
  CHECK(spread.reached == 2);  // p00 by p01, p01 by p02
  CHECK(spread.pairs == 6);
  CHECK_FALSE(spread.complete_s);
  log.send(4.0, "p01", "p02", 1).merge(5.0, "p02", "p01", 1);
  facts = facts_of({log.log()}, {"p00", "p01", "p02"});
  CHECK(spread_of(facts).reached == 3);
}

TEST_CASE("two peers know of each other after one exchange") {
  TestLog log;
  log.send(1.0, "p00", "p01", 0).send(1.0, "p01", "p00", 0);
  log.merge(2.0, "p01", "p00", 0).merge(2.5, "p00", "p01", 0);
  const Spread spread = spread_of(facts_of({log.log()}, {"p00", "p01"}));
  REQUIRE(spread.complete_s);
  CHECK(*spread.complete_s == Approx(2.5));
  CHECK(spread.merges_until_then == 2);
}

}  // namespace hearsay::runtime::report
