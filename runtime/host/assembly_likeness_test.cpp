// SPDX-License-Identifier: Apache-2.0
// What goes by how alike peers are needs peers that find out, and says so before anything is
// loaded.
#include "runtime/host/live_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

std::string complaint_of(const char* merge, const char* cluster) {
  RunConfig config = live_testkit::config_of(4, "pairwise");
  config.merge = parse_spec("--merge", merge);
  config.cluster = parse_spec("--cluster", cluster);
  return live_testkit::complaint_of(config);
}

}  // namespace

TEST_CASE("likeness as weight of a merge needs communities that are found") {
  CHECK(complaint_of("ema:0.5+alike", "agglo").empty());
  CHECK(complaint_of("ema:0.5+staleness+alike:g=3", "agglo:average,soft=0.3").empty());
  for (const char* cluster : {"off", "given:groups=2"}) {
    CHECK(
        complaint_of("ema:0.5+alike", cluster) ==
        "--merge ema:0.5+alike: how alike two peers are is told by sketches; add --cluster agglo");
  }
  CHECK(complaint_of("ema:0.5+alike:g=-1", "agglo") ==
        "--merge: alike's exponent g lies between 0 and 64");
  CHECK(complaint_of("ema:0.5+alike:h=1", "agglo").find("--merge") != std::string::npos);
}

TEST_CASE("soft choice has a temperature, and no share outside") {
  CHECK(complaint_of("ema:0.5", "agglo:average,every=1,soft=0.2,schedule=early").empty());
  CHECK(complaint_of("ema:0.5", "agglo:soft=0").find("--cluster soft=0: a temperature from") == 0);
  CHECK(complaint_of("ema:0.5", "agglo:soft=0.2,e=0.1").find("leave one of them out") !=
        std::string::npos);
  CHECK(complaint_of("ema:0.5", "given:groups=2,soft=1").find("--cluster") != std::string::npos);
}
