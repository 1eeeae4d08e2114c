// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/journal_head.hpp"

#include "kernels/core/errc.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("a journal says where its peer has trained; earlier ones do not") {
  JournalHead head;
  head.peer = "p01";
  head.device = "cuda:0 NVIDIA H200";
  head.at_start = {true, false};
  head.config = computed_config(RunConfig{});
  nlohmann::ordered_json json = head.json();
  CHECK(JournalHead::from_json("a", json).device == "cuda:0 NVIDIA H200");
  json["device"] = 7;
  CHECK_THROWS_AS(JournalHead::from_json("a", json), hearsay::kernels::UsageError);
  json.erase("device");
  const JournalHead earlier = JournalHead::from_json("a", json);
  CHECK(earlier.device.empty());
  CHECK(earlier.at_start == head.at_start);
}
