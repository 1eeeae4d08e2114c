// SPDX-License-Identifier: Apache-2.0
// --protocol choco and --codec lowrank: what their words mean, and what does not fit is said in one
// line.
#include "runtime/host/build_choco.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/live_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;
using live_testkit::complaint_of;

namespace {

RunConfig config_of(const char* protocol, const char* codec, const char* topology = "ring",
                    std::uint32_t peers = 8) {
  RunConfig config = live_testkit::config_of(peers, "pairwise");
  config.protocol = parse_spec("--protocol", protocol);
  config.codec = parse_spec("--codec", codec);
  config.topology = parse_spec("--topology", topology);
  return config;
}

}  // namespace

TEST_CASE("choco's gamma is what is said, or what the codec bears") {
  CHECK(build_pool_plan(config_of("choco:gamma=0.3", "topk:1%")).choco_gamma == 0.3);
  CHECK(build_pool_plan(config_of("choco", "topk:1%")).choco_gamma == 0.01);
  CHECK(build_pool_plan(config_of("choco", "randk:10%")).choco_gamma == 0.05);
  CHECK(build_pool_plan(config_of("choco", "int8")).choco_gamma == 0.5);
  CHECK(build_pool_plan(config_of("pairwise", "int8")).choco_gamma == 0.0);
}

TEST_CASE("what does not go with choco is refused in one line, with what to try") {
  struct Refused {
    const char *protocol, *codec, *topology;
    std::uint32_t peers;
    const char* part;
  };
  for (const Refused& each : std::vector<Refused>{
           {"choco", "ma:5%", "ring", 8, "from message to message"},
           {"choco", "topk:5%+int8+qm", "ring", 8, "from message to message"},
           {"choco", "topk:5%+density", "ring", 8, "from message to message"},
           {"choco", "raw", "ring", 8, "try --protocol choco --topology ring --codec topk:10%"},
           {"choco", "topk:1%+mirror", "ring", 8, "leave '+mirror' out"},
           {"choco", "int4+ef", "ring", 8, "leave '+ef' out"},
           {"choco", "lowrank:4", "ring", 8, "take topk or int8"},
           {"choco", "auto", "ring", 8, "nobody answers"},
           {"choco", "lossless", "ring", 8, "take bf16 or topk:10%"},
           {"choco", "int8", "uniform", 18, "one has 17"},
           {"choco:gamma=0", "int8", "ring", 8, "lies above 0"},
           {"choco:gamma=1.5", "int8", "ring", 8, "up to 1"},
           {"choco:alpha=1", "int8", "ring", 8, "alpha"}}) {
    CAPTURE(each.protocol, each.codec);
    const std::string line =
        complaint_of(config_of(each.protocol, each.codec, each.topology, each.peers));
    CAPTURE(line);
    CHECK(line.find(each.part) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
  RunConfig config = config_of("choco", "int8");
  CHECK(complaint_of(config).empty());
  config.wait = true;
  CHECK(complaint_of(config).find("--wait") != std::string::npos);
  config = config_of("choco", "int8");
  config.merge = parse_spec("--merge", "ema:0.3");
  CHECK(complaint_of(config).find("--merge") != std::string::npos);
  config = config_of("choco", "int8");
  config.end_game = parse_spec("--end-game", "rounds=2");
  CHECK(complaint_of(config).find("--end-game") != std::string::npos);
  config = config_of("choco", "int8");
  config.outer = parse_spec("--outer", "noloco");
  CHECK(complaint_of(config).find("--outer") != std::string::npos);
  config = config_of("choco", "int8");
  config.chaos = {"sign-flip=p03"};
  CHECK(complaint_of(config).find("sign-flip") != std::string::npos);
}

TEST_CASE("lowrank says along how many directions") {
  const auto settings_of = [](const char* text) {
    return codec_settings(parse_spec("--codec", text));
  };
  CHECK(settings_of("lowrank:4")->rank == 4);
  CHECK(hearsay::gossip::text_of(*settings_of("lowrank:4")) == "lowrank:4");
  for (const char* text : {"lowrank", "lowrank:0", "lowrank:65", "lowrank:4+int8",
                           "lowrank:4+mirror", "lowrank:4,size=2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(settings_of(text), UsageError);
  }
}
