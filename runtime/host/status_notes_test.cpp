// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/status_notes.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::gossip::Event;

namespace {

Event decided(double alpha, double age, double rel_norm) {
  Event event("merge.decided");
  event.add("from", std::string("p02")).add("alpha", alpha).add("age_samples", age);
  return std::move(event.add("rel_norm", rel_norm));
}

Event applied(const std::string& from) {
  Event event("merge.applied");
  return std::move(event.add("from", from));
}

}  // namespace

TEST_CASE("a merge leaves its partner, alpha, age and instant", "[host]") {
  PeerStatus status;
  note_event(decided(0.25, 70.0, 0.2), 1.5, status);
  CHECK(status.newest_merges.empty());
  note_event(applied("p02"), 1.5, status);
  CHECK(status.partner == "p02");
  REQUIRE(status.newest_merges.size() == 1);
  CHECK(status.newest_merges[0].from == "p02");
  CHECK(status.newest_merges[0].alpha == 0.25);
  CHECK(status.newest_merges[0].at_s == 1.5);
  CHECK(status.merge_age_samples.counts[2] == 1);  // 64 < 70 <= 256
  CHECK(status.merge_age_samples.sum == 70.0);
}

TEST_CASE("only the newest merges are kept, oldest first", "[host]") {
  PeerStatus status;
  for (int i = 0; i < 50; ++i) note_event(applied("p" + std::to_string(i)), i, status);
  REQUIRE(status.newest_merges.size() == PeerStatus::kNewestMerges);
  CHECK(status.newest_merges.front().from == "p34");
  CHECK(status.newest_merges.back().from == "p49");
}

TEST_CASE("a frame that was thrown away unseen has no age and no distance", "[host]") {
  PeerStatus status;
  Event refused("merge.decided");
  refused.add("from", std::string("p01")).add("alpha", 0.0);
  note_event(refused, 1.0, status);
  CHECK(status.merge_age_samples == MergeAges());
  CHECK(status.consensus_distance < 0.0);
}

TEST_CASE("the consensus distance is that of models around a mean", "[host]") {
  // In many dimensions two models at distance D from their mean are sqrt(2) D apart.
  PeerStatus status;
  for (int i = 0; i < 200; ++i) note_event(decided(0.5, 0.0, std::sqrt(2.0) * 0.03), 0.0, status);
  CHECK(status.consensus_distance == Approx(0.03));
  for (int i = 0; i < 200; ++i) note_event(decided(0.5, 0.0, 0.0), 0.0, status);
  CHECK(status.consensus_distance < 1e-4);
  note_event(decided(0.5, 0.0, std::numeric_limits<double>::infinity()), 0.0, status);
  CHECK(status.consensus_distance < 1e-4);
}

TEST_CASE("an evaluation leaves its loss", "[host]") {
  PeerStatus status;
  Event event("eval.finished");
  note_event(event.add("loss", 0.75), 0.0, status);
  CHECK(status.test_loss == 0.75);
}

TEST_CASE("a value on a bound counts below it, and one that is no number not at all", "[host]") {
  MergeAges ages;
  for (const double value : {0.0, 64.0, 64.5, 1e9}) ages.add(value);
  ages.add(std::numeric_limits<double>::quiet_NaN());
  CHECK(ages.counts[0] == 1);
  CHECK(ages.counts[1] == 1);
  CHECK(ages.counts[2] == 1);
  CHECK(ages.counts.back() == 1);
  CHECK(ages.sum == 1e9 + 128.5);
}
