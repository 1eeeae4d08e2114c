// SPDX-License-Identifier: Apache-2.0
#include "runtime/examples/example_plan.hpp"

#include "kernels/core/errc.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;

namespace {

RunConfig config(const char* sampling, const char* retire, const char* quarantine,
                 const char* protocol = "pairwise") {
  RunConfig c;
  c.sampling = parse_spec("--test", sampling);
  c.retire = parse_spec("--test", retire);
  c.quarantine = parse_spec("--test", quarantine);
  c.protocol = parse_spec("--test", protocol);
  return c;
}

}  // namespace

TEST_CASE("where nobody asks, no ledger is kept") {
  CHECK(build_examples(config("uniform", "off", "off")) == nullptr);
}

TEST_CASE("words of sampling, retirement and quarantine are read") {
  const auto plan = build_examples(config("hard:g=2,floor=0.2,age=0,zeta=0.5,clip=4,every=3",
                                          "agreed:reserve=4,retire=25%,alike=1,most=50%",
                                          "hard:confidence=0.2,models=2,every=2"));
  REQUIRE(plan);
  CHECK(plan->sampling.rule == SamplingPlan::Rule::hard);
  CHECK(plan->sampling.gain == 2.0);
  CHECK(plan->sampling.zeta_first == 0.5);
  CHECK(plan->sampling.zeta_last == 0.5);
  REQUIRE(plan->retire);
  CHECK(plan->retire->reserve_models == 4);
  CHECK(plan->retire->retire_share == 0.25);
  CHECK(plan->retire->most == 0.5);
  REQUIRE(plan->quarantine);
  CHECK(plan->quarantine->judges == 2);
  CHECK(plan->every == 2);
  CHECK(build_examples(config("hard:every=9", "off", "off"))->every == 9);
  CHECK(build_examples(config("rho:zeta=0..0.5", "off", "off"))->sampling.zeta_last == 0.5);
}

TEST_CASE("what makes no sense is refused") {
  const auto refused = [](const char* sampling, const char* retire, const char* quarantine,
                          const char* protocol = "pairwise") {
    CAPTURE(sampling, retire, quarantine, protocol);
    CHECK_THROWS_AS(build_examples(config(sampling, retire, quarantine, protocol)), UsageError);
  };
  refused("easy", "off", "off");
  refused("uniform:g=1", "off", "off");
  refused("hard:k=1", "off", "off");
  refused("hard:g=-1", "off", "off");
  refused("hard:zeta=0..2", "off", "off");
  refused("hard+ef", "off", "off");
  refused("uniform", "agreed:forgotten=0.99", "off");
  refused("uniform", "off:every=2", "off");
  refused("uniform", "never", "off");
  refused("uniform", "off", "hard:models=0");
  refused("uniform", "off", "soft");
  refused("hard", "off", "off", "ddp");
  refused("uniform", "agreed", "off", "local");
  refused("rho", "off", "off", "local");
  CHECK(build_examples(config("hard", "off", "off", "local")) != nullptr);
}

TEST_CASE("examples are logged where some change hands") {
  RunConfig c = config("uniform", "off", "off");
  c.log_examples = true;
  CHECK_THROWS_AS(build_examples(c), UsageError);
  c.share = parse_spec("--share", "hard:8");
  REQUIRE(build_examples(c));
  CHECK(build_examples(c)->logs);
  c.log_examples = false;
  CHECK_FALSE(build_examples(c)->logs);
}
