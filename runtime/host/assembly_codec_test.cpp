// SPDX-License-Identifier: Apache-2.0
// Where a codec does not fit is said before anything is loaded.
#include "kernels/core/errc.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/journal_head.hpp"
#include "runtime/host/live_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;

namespace {

std::string complaint_of(const char* protocol, const char* codec, std::vector<std::string> chaos) {
  RunConfig config = live_testkit::config_of(4, protocol);
  config.codec = parse_spec("--codec", codec);
  config.chaos = std::move(chaos);
  return live_testkit::complaint_of(config);
}

}  // namespace

TEST_CASE("a codec goes with pairwise and push, and with no weights that are altered on the way") {
  for (const char* protocol : {"pairwise", "push"}) {
    CHECK(complaint_of(protocol, "int8", {}).empty());
    CHECK(complaint_of(protocol, "int8", {"drop=1%", "label-flip=p03", "kill=1@30%"}).empty());
    CHECK(complaint_of(protocol, "raw", {"sign-flip=p03"}).empty());
    CHECK(complaint_of(protocol, "int8", {"drop=1%", "sign-flip=p03"}) ==
          "--codec int8: --chaos sign-flip=p03 changes weights that are sent as they are; take "
          "--codec raw");
  }
  for (const char* protocol : {"push-sum", "ddp", "local"}) {
    CHECK(complaint_of(protocol, "raw", {}).empty());
    CHECK(complaint_of(protocol, "int8", {}) ==
          std::string("--codec int8: --protocol ") + protocol +
              " needs whole models; take --codec raw, or --protocol pairwise or push");
  }
}

TEST_CASE("a codec that goes by answers needs a protocol that has them") {
  for (const char* codec : {"auto", "topk:5%+auto+mirror"}) {
    CHECK(complaint_of("pairwise", codec, {}).empty());
    CHECK(complaint_of("push", codec, {}) ==
          std::string("--codec ") + codec +
              ": 'auto' goes by what partners answer, and --protocol push has no answers; take "
              "--protocol pairwise, or a codec without 'auto'");
  }
}

TEST_CASE("raw is no codec, and what is none is refused") {
  hearsay::kernels::Layout layout;
  layout.add("0.weight", {3});
  const std::vector<float> start(3);
  const auto build = [&](const char* text) {
    return build_codec(parse_spec("--codec", text), layout, start, 0);
  };
  CHECK(build("raw") == nullptr);
  CHECK_THROWS_AS(build("rew"), UsageError);
  CHECK_THROWS_AS(build("raw:x=1"), UsageError);
}

TEST_CASE("a journal says in which codec its peer spoke") {
  RunConfig config = live_testkit::config_of(4, "pairwise"), again;
  config.codec = parse_spec("--codec", "topk:0.01+ef");
  config.model = config.optimizer = config.schedule = parse_spec("--test", "x");
  apply_computed_config(computed_config(config), again);
  CHECK(again.codec.text == "topk:0.01+ef");
  CHECK(again.codec.name == "topk");
}
