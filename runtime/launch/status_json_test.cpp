// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/status_json.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "tests/catch.hpp"

using namespace hearsay::runtime;
using Json = nlohmann::ordered_json;

namespace {

// Every field has a value that no other field and no default has.
PeerStatus full_status() {
  PeerStatus s;
  s.state = PeerStatus::State::lingering;
  s.clock_s = 1.5;
  s.progress = 0.25;
  s.epochs = 2.5;
  s.samples = 10'000'000'001;
  s.samples_per_s = 3.5;
  s.merges = 11;
  s.merges_applied = 12;
  s.merges_refused = 13;
  s.merges_skipped = 14;
  s.payload_bytes = 15;
  s.wire_bytes = 16;
  s.payload_bytes_received = 17;
  s.wire_bytes_received = 18;
  s.loss = 4.5;
  s.accuracy = 0.5;
  s.test_loss = 5.5;
  s.evaluated_epochs = 6.5;
  s.evaluated_s = 7.5;
  s.evaluation_round = 19;
  s.partner = "p03";
  s.alpha = 0.75;
  s.inbox_depth = 20;
  s.partners_alive = 21;
  s.consensus_distance = 0.125;
  s.step_seconds.add(0.002);
  s.merge_age_samples.add(1e9);
  s.newest_merges = {{"p01", 0.5, 1.0}, {"p02", 0.25, 1.25}};
  return s;
}

}  // namespace

TEST_CASE("every field of a status comes back as it went", "[launch]") {
  const Json j = status_json(full_status());
  const auto back = read_status(j);
  REQUIRE(back);
  CHECK(back->samples == 10'000'000'001);
  CHECK(back->merge_age_samples == full_status().merge_age_samples);
  CHECK(back->newest_merges[1].from == "p02");
  CHECK(status_json(*back) == j);
  // The check above sees a field only if it is in the text, and differs from what a new status has.
  const Json fresh = status_json(PeerStatus());
  for (const auto& [key, value] : j.items()) {
    CAPTURE(key);
    CHECK(fresh.at(key) != value);
  }
}

TEST_CASE("a status with a field missing or of another kind is none", "[launch]") {
  const Json whole = status_json(full_status());
  for (const auto& [key, value] : whole.items()) {
    CAPTURE(key);
    Json without = whole, odd = whole;
    without.erase(key);
    CHECK_FALSE(read_status(without));
    odd[key] = true;
    CHECK_FALSE(read_status(odd));
  }
}

TEST_CASE("a status that could not be is none", "[launch]") {
  const Json whole = status_json(full_status());
  Json j = whole;
  j["state"] = "asleep";
  CHECK_FALSE(read_status(j));
  j = whole;
  j["step_seconds"]["counts"].push_back(1);
  CHECK_FALSE(read_status(j));
  j = whole;
  j["merge_age_samples"]["counts"][0] = -1;
  CHECK_FALSE(read_status(j));
  j = whole;
  for (int i = 0; i < 20; ++i) j["newest_merges"].push_back(j["newest_merges"][0]);
  CHECK_FALSE(read_status(j));
  j = whole;
  j["inbox_depth"] = std::uint64_t{1} << 40;
  CHECK_FALSE(read_status(j));
  CHECK_FALSE(read_status(Json::array()));
  CHECK_FALSE(read_status(Json()));
}

TEST_CASE("losses that are no numbers are told as large ones", "[launch]") {
  PeerStatus status = full_status();
  status.loss = std::nan("");
  status.test_loss = std::numeric_limits<double>::infinity();
  const auto back = read_status(status_json(status));
  REQUIRE(back);
  CHECK(back->loss == PeerStatus::kNoLoss);
  CHECK(back->test_loss == PeerStatus::kNoLoss);
}
