// SPDX-License-Identifier: Apache-2.0
// Where a codec does not fit is said before anything is loaded.
#include "kernels/core/errc.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/build_codec.hpp"
#include "runtime/host/build_reduce.hpp"
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
  for (const char* protocol : {"push-sum", "local"}) {
    CHECK(complaint_of(protocol, "raw", {}).empty());
    CHECK(complaint_of(protocol, "int8", {}) ==
          std::string("--codec int8: --protocol ") + protocol +
              " needs whole models; take --codec raw, or --protocol pairwise or push");
  }
}

TEST_CASE("sums are said in codecs that say each for itself, with feedback of a known kind") {
  for (const char* protocol :
       {"ddp", "ddp:feedback=ef", "ddp:feedback=ef21", "ddp:feedback=none", "diloco",
        "diloco:lr=0.5,mu=0.5,feedback=ef21", "diloco:feedback=none"}) {
    CAPTURE(protocol);
    for (const char* codec : {"topk:1%+int8", "int8", "randk:1%", "blocks:0.25", "sign"})
      CHECK(complaint_of(protocol, codec, {}).empty());
    for (const char* codec : {"auto", "topk:1%+mirror", "topk:1%+auto+mirror", "lowrank:4",
                              "lossless", "ma:1%", "topk:1%+qm", "topk:1%+density"})
      CHECK(complaint_of(protocol, codec, {}).starts_with(std::string("--codec ") + codec + ": "));
  }
  CHECK(complaint_of("ddp", "raw", {}).empty());
  CHECK(complaint_of("ddp:feedback=ef", "raw", {}) ==
        "--protocol ddp:feedback=ef: feedback is about what a codec leaves out, and --codec raw "
        "leaves out nothing; add --codec topk:1%+int8");
  CHECK(complaint_of("diloco:feedback=dgc", "int8", {})
            .ends_with("feedback=dgc is about momentum of every mini-batch; take ef or ef21"));
  CHECK(complaint_of("ddp:feedback=ef22", "int8", {}).find("'ef21'") != std::string::npos);
  CHECK_FALSE(complaint_of("ddp:lr=1", "int8", {}).empty());
}

TEST_CASE("momentum correction has sgd's momentum and clipping before the codec, and none after") {
  RunConfig config = live_testkit::config_of(4, "ddp:feedback=dgc");
  config.codec = parse_spec("--codec", "topk:1%");
  config.optimizer = parse_spec("--optimizer", "sgd:lr=0.1,momentum=0.8,clip=2");
  const hearsay::gossip::FeedbackSettings feedback = reduce_settings(config, nullptr).feedback;
  CHECK(feedback.momentum == 0.8);
  CHECK(feedback.clip == 2.0);
  const OptimizerOptions after = optimizer_after_sums(config);
  CHECK((after.lr == 0.1 && after.momentum == 0.0 && after.clip == 0.0));
  CHECK(live_testkit::complaint_of(config).empty());
  config.codec = parse_spec("--codec", "int8");
  CHECK(live_testkit::complaint_of(config).find("says every weight") != std::string::npos);
  config.protocol = parse_spec("--protocol", "ddp:feedback=ef");
  CHECK(optimizer_after_sums(config).momentum == 0.8);
  config.protocol = parse_spec("--protocol", "ddp:feedback=dgc");
  config.codec = parse_spec("--codec", "topk:1%");
  config.optimizer = parse_spec("--optimizer", "adamw");
  CHECK(live_testkit::complaint_of(config).find("takes the momentum of sgd") != std::string::npos);
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
