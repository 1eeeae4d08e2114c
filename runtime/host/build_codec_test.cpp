// SPDX-License-Identifier: Apache-2.0
// What --codec accepts, what it makes of it, and what it says about the rest.
#include "runtime/host/build_codec.hpp"

#include <vector>

#include "kernels/core/errc.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

using gossip::ValueKind;
using Kind = gossip::CodecSettings::Kind;

gossip::CodecSettings settings(const std::string& text) {
  return *codec_settings(parse_spec("--codec", text));
}

std::string canonical(const std::string& text) { return gossip::text_of(settings(text)); }

std::string fault(const std::string& text) {
  try {
    codec_settings(parse_spec("--codec", text));
  } catch (const kernels::UsageError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return fault(text).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("raw is no codec") {
  kernels::Layout layout;
  layout.add("w", {2000});
  const std::vector<float> start(2000);
  CHECK(build_codec(parse_spec("--codec", "raw"), layout, start, 1) == nullptr);
  const auto plan = build_codec(parse_spec("--codec", "topk:1%"), layout, start, 1);
  REQUIRE(plan != nullptr);
  CHECK(plan->text() == "topk:0.01");
  CHECK(plan->most_bytes() < 5 + 4 + 1 + 20 * 2 + 20 * 4 + 10);
}

TEST_CASE("Defaults of rounding: at random for dense levels, with memory for what is chosen") {
  CHECK(settings("int8").values.is_stochastic);
  CHECK(settings("int4").values.is_stochastic);
  CHECK_FALSE(settings("bf16").values.is_stochastic);
  CHECK_FALSE(settings("bf16").keeps_error);
  CHECK_FALSE(settings("int8+ef").values.is_stochastic);
  CHECK(settings("int8+ef").keeps_error);
  CHECK(settings("topk:0.01").values.kind == ValueKind::fp32);
  CHECK_FALSE(settings("topk:0.01+int8").values.is_stochastic);
  CHECK(settings("topk:0.01+int4:block=32+sr").values.is_stochastic);
  CHECK(settings("topk:0.01+int4:block=32+sr").values.block == 32);
  CHECK(settings("blocks:0.25,size=4096").block_size == 4096);
  CHECK(settings("randk:2%").kind == Kind::random);
  CHECK(settings("threshold:2%+mirror").is_mirrored);
  CHECK(settings("topk:1%,per=tensor").is_per_tensor);
  CHECK_FALSE(settings("ma:1%,per=global").is_per_tensor);
  CHECK(settings("ma:1%").average.beta == 0.9);
  CHECK(settings("ma:1%,rule=literal").average.beta == 0.1);
  CHECK(settings("score:1%").average.kind == gossip::AverageRule::Kind::score);
  CHECK(settings("topk:1%+int8+qm").smoothing.mode == gossip::SmoothingRule::Mode::ef);
  CHECK(settings("randk:1%+int4+qm:on_support,b=0.5").smoothing.gain == 0.5);
  CHECK(settings("topk:1%+density:fast=2%").density->fast == 0.02);
}

TEST_CASE("A codec has one canonical text, which parses to the same codec") {
  const std::vector<std::pair<std::string, std::string>> texts{
      {"int8", "int8"},
      {"int8+sr", "int8"},
      {"int8:block=64+ef", "int8+ef"},
      {"int4:block=128", "int4:block=128"},
      {"bf16+sr", "bf16+sr"},
      {"bf16+ef", "bf16+ef"},
      {"topk:1%", "topk:0.01"},
      {"topk:0.01+ef", "topk:0.01"},
      {"topk:1%+fp32+mirror", "topk:0.01+mirror"},
      {"topk:1%+sr+int8:block=32", "topk:0.01+int8:block=32+sr"},
      {"threshold:0.1%", "threshold:0.001"},
      {"randk:0.5+bf16", "randk:0.5+bf16"},
      {"topk:1%,per=tensor+bf16", "topk:0.01,per=tensor+bf16"},
      {"topk:1%,per=global", "topk:0.01"},
      {"ma:1%,beta=0.9,rule=corrected", "ma:0.01"},
      {"ma:1%,rule=literal,beta=0.5", "ma:0.01,rule=literal,beta=0.5"},
      {"ma:1%,rule=literal,beta=0.1+int8", "ma:0.01,rule=literal+int8"},
      {"score:1%,beta=0.8,per=tensor+mirror", "score:0.01,beta=0.8,per=tensor+mirror"},
      {"topk:1%+mirror+qm:ef,b=0.7+int8", "topk:0.01+int8+qm+mirror"},
      {"topk:1%+int8+qm:literal,b=0.5", "topk:0.01+int8+qm:literal,b=0.5"},
      {"blocks:5%+int4+qm:b=0.5", "blocks:0.05+int4+qm:b=0.5"},
      {"topk:1%+density:slow=0.1%,fast=1%+qm:on_support+int4",
       "topk:0.01+int4+qm:on_support+density"},
      {"ma:1%+density:slow=0.2%,fast=2%", "ma:0.01+density:slow=0.002,fast=0.02"},
      {"blocks:0.0625,size=64", "blocks:0.0625"},
      {"blocks:6.25%,size=16+int4", "blocks:0.0625,size=16+int4"},
      {"lossless", "lossless"},
      {"lossless:anchor=32", "lossless"},
      {"lossless:anchor=1", "lossless:anchor=1"}};
  for (const auto& [text, expected] : texts) {
    CHECK(canonical(text) == expected);
    CHECK(canonical(expected) == expected);
  }
}

TEST_CASE("The option refuses what it does not understand, with what to try") {
  CHECK(says("topk:1", "did you mean 1 % (topk:1%)?"));
  CHECK(says("topk:100%", "did you mean 1 %"));
  CHECK(says("randk:5", "did you mean 5%?"));
  CHECK(says("topk", "such as topk:1%"));
  CHECK(says("topk:0", "above 0"));
  CHECK(says("topk:-1%", "between 0 and 1"));
  CHECK(says("topk:nan", "not a number"));
  CHECK(says("topc:1%", "did you mean 'topk'?"));
  CHECK(says("topk:1%,size=64", "key 'size' (known: per)"));
  CHECK(says("topk:1%,2%", "one too many"));
  CHECK(says("blocks:5%,size=48", "power of two from 16 to 4096, not 48"));
  CHECK(says("blocks:5%,size=8192", "power of two from 16 to 4096"));
  CHECK(says("int8:block=16", "power of two from 32 to 256, not 16"));
  CHECK(says("bf16:block=64", "takes no 'block='"));
  CHECK(says("int8:64", "one too many"));
  CHECK(says("int8+mirror", "says all weights anyway"));
  CHECK(says("int8+int4", "drop '+int4'"));
  CHECK(says("topk:1%+int8+int4", "exclude each other"));
  CHECK(says("topk:1%+int8+sr+ef", "exclude each other"));
  CHECK(says("topk:1%+mirror+mirror", "twice"));
  CHECK(says("topk:1%+sr", "fp32 is not rounded"));
  CHECK(says("fp32+ef", "fp32 is not rounded"));
  CHECK(says("topk:1%+mirrr", "did you mean 'mirror'?"));
  CHECK(says("topk:1%+ef:3", "one too many"));
  CHECK(says("raw+int8", "topk:1%+int8"));
  CHECK(says("raw:3", "one too many"));
  CHECK(says("lossless:anchor=0", "one message in 1 to 65536 is whole"));
  CHECK(says("lossless:anchor=65537", "try lossless:anchor=32"));
  CHECK(says("lossless:achor=3", "anchor"));
  CHECK(says("lossless:3", "one too many"));
  CHECK(says("lossless+int8", "takes no modifier"));
}

TEST_CASE("Averages, momentum and density are refused where they do not go, with what to try") {
  CHECK(says("ma:1%,rule=litral", "did you mean 'literal'?"));
  CHECK(says("ma:1%,beta=1", "from 0 to below 1"));
  CHECK(says("ma:1%,bta=0.9", "did you mean 'beta'?"));
  CHECK(says("ma", "such as ma:1%"));
  CHECK(says("score:1%,rule=literal", "key 'rule'"));
  CHECK(says("ma:1%,rule=literal,per=tensor", "one threshold"));
  CHECK(says("topk:1%,per=layer", "known: global, tensor"));
  CHECK(says("threshold:1%,per=tensor", "takes no 'per='"));
  CHECK(says("randk:1%,per=tensor", "takes no 'per='"));
  CHECK(says("topk:1%+qm", "add '+int8' or '+int4'"));
  CHECK(says("topk:1%+auto+mirror+qm", "add '+int8' or '+int4'"));
  CHECK(says("int8+qm", "goes with topk"));
  CHECK(says("topk:1%+int8+qm:ef+qm:ef", "given twice"));
  CHECK(says("topk:1%+int8+qm:onsupport", "did you mean 'on_support'?"));
  CHECK(says("topk:1%+int8+qm:b=1", "between 0 and 1"));
  CHECK(says("topk:1%+int8+qm:c=1", "did you mean 'b'?"));
  CHECK(says("blocks:5%+int8+qm:literal", "take '+qm:on_support'"));
  CHECK(says("blocks:5%+density", "goes with topk"));
  CHECK(says("int8+density", "goes with topk"));
  CHECK(says("topk:50%+density", "between 0.1% and 30%"));
  CHECK(says("topk:5%+auto+mirror+density", "exclude each other"));
  CHECK(says("topk:1%+density:slow=2%", "slow=0.1%,fast=1%"));
  CHECK(says("topk:1%+density+density", "given twice"));
  CHECK(says("lowrank:2+qm", "takes no modifier"));
}

}  // namespace hearsay::runtime
