// SPDX-License-Identifier: Apache-2.0
// --outer and --protocol diloco: what their words mean, and what does not fit is said in one line.
#include "runtime/host/build_outer.hpp"

#include "kernels/core/errc.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/host/live_testkit.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::UsageError;
using live_testkit::complaint_of;
using Kind = hearsay::gossip::OuterSettings::Kind;

namespace {

RunConfig config_of(const char* outer, const char* protocol = "pairwise",
                    const char* merge = "ema:0.5") {
  RunConfig config = live_testkit::config_of(4, "pairwise");
  config.outer = parse_spec("--outer", outer);
  config.protocol = parse_spec("--protocol", protocol);
  config.merge = parse_spec("--merge", merge);
  if (std::string(protocol) != "pairwise") config.merge_every = parse_spec("--merge-every", "1");
  return config;
}

}  // namespace

TEST_CASE("the words of an outer optimiser are its parameters") {
  CHECK_FALSE(build_pool_plan(config_of("none")).outer);
  const auto noloco = *build_pool_plan(config_of("noloco:a=0.6,gamma=0.5,mu=0.3")).outer;
  CHECK((noloco.kind == Kind::noloco && noloco.rate == 0.6));
  CHECK((noloco.gamma == 0.5 && noloco.momentum == 0.3));
  const auto plain = *build_pool_plan(config_of("noloco")).outer;
  CHECK((plain.rate == 0.7 && plain.gamma == 0.7 && plain.momentum == 0.5));
  const auto delayed = *build_pool_plan(config_of("delayed:n=8,c=0.1,mu=0.8", "push")).outer;
  CHECK((delayed.kind == Kind::delayed && delayed.period == 8 && delayed.activation == 0.1));
  const auto nesterov = *build_pool_plan(config_of("nesterov:lr=1")).outer;
  CHECK((nesterov.kind == Kind::nesterov && nesterov.rate == 1.0 && nesterov.momentum == 0.9));
  const auto diloco = *build_pool_plan(config_of("none", "diloco:lr=1,mu=0")).outer;
  CHECK((diloco.kind == Kind::nesterov && diloco.rate == 1.0 && diloco.momentum == 0.0));
}

TEST_CASE("what no outer optimiser is, or where it does not fit, is refused in one line") {
  struct Refused {
    const char *outer, *protocol, *merge, *part;
  };
  for (const Refused& each :
       std::vector<Refused>{{"nolco", "pairwise", "ema:0.5", "did you mean 'noloco'?"},
                            {"noloco:lr=1", "pairwise", "ema:0.5", "lr"},
                            {"noloco:gamma=1.5", "pairwise", "ema:0.5", "2 (1 - mu^2) = 1.500"},
                            {"noloco:mu=0.9", "pairwise", "ema:0.5", "drift apart"},
                            {"noloco:a=0", "pairwise", "ema:0.5", "above 0"},
                            {"nesterov:mu=1", "pairwise", "ema:0.5", "mu"},
                            {"delayed:n=0", "pairwise", "ema:0.5", "1 to 1024"},
                            {"delayed:n=4,c=0.3", "pairwise", "ema:0.5", "1 / n"},
                            {"none:a=1", "pairwise", "ema:0.5", "a"},
                            {"noloco+ef", "pairwise", "ema:0.5", "no '+' modifiers"},
                            {"noloco", "push-sum", "ema:0.5", "masses"},
                            {"noloco", "ddp", "ema:0.5", "no effect"},
                            {"nesterov", "local", "ema:0.5", "--peers 1"},
                            {"nesterov", "diloco", "ema:0.5", "has its own"},
                            {"noloco", "pairwise", "median:b=3", "centre"},
                            {"noloco", "pairwise", "ema:0.5+gate:kappa=1", "+gate"},
                            {"none", "diloco:gamma=1", "ema:0.5", "gamma"},
                            {"none", "diloco+x", "ema:0.5", "no '+' modifiers"}}) {
    CAPTURE(each.outer, each.protocol, each.merge);
    const std::string line = complaint_of(config_of(each.outer, each.protocol, each.merge));
    CAPTURE(line);
    CHECK(line.find(each.part) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
  auto config = config_of("none", "diloco");
  config.merge_every = parse_spec("--merge-every", "0.5,mode=steps");
  CHECK(complaint_of(config).find("--merge-every mode") != std::string::npos);
}

TEST_CASE("an outer optimiser goes with every codec and with push") {
  for (const char* codec : {"int8", "int4+ef", "topk:1%+mirror", "randk:5%+int8", "blocks:10%"}) {
    for (const char* protocol : {"pairwise", "push"}) {
      RunConfig config = config_of("noloco:a=0.5,gamma=0.7", protocol);
      config.codec = parse_spec("--codec", codec);
      CHECK(complaint_of(config).empty());
    }
  }
}
