// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/spec.hpp"

#include <random>

#include "kernels/core/errc.hpp"
#include "runtime/config/text_range.hpp"
#include "tests/catch.hpp"

using hearsay::kernels::UsageError;
using namespace hearsay::runtime;
using namespace std::string_view_literals;

namespace {

// The line of the UsageError that `call` throws; empty when it throws none.
template <typename Call>
std::string complaint(Call&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a spec splits into name, values, arguments and modifiers", "[config]") {
  const Spec spec =
      parse_spec("--merge", "ema:0.5,a=0.1..0.5,shape=linear+staleness:half-life=20+norm-clip");
  CHECK(spec.name == "ema");
  CHECK(spec.values == std::vector<std::string>{"0.5"});
  CHECK(spec.arg("a") == "0.1..0.5");
  CHECK(spec.arg("shape") == "linear");
  CHECK_FALSE(spec.arg("half-life").has_value());
  REQUIRE(spec.modifiers.size() == 2);
  CHECK(spec.modifiers[0].name == "staleness");
  CHECK(spec.modifiers[0].arg("half-life") == "20");
  CHECK(spec.modifiers[0].text == "staleness:half-life=20");
  CHECK(spec.modifiers[1].name == "norm-clip");
  CHECK(spec.text == "ema:0.5,a=0.1..0.5,shape=linear+staleness:half-life=20+norm-clip");
}

TEST_CASE("a head may be a number, or a name with an equals sign", "[config]") {
  const Spec every = parse_spec("--merge-every", "0.0625,mode=steps");
  CHECK(every.name == "0.0625");
  CHECK(every.arg("mode") == "steps");
  CHECK(every.values.empty());
  const Spec rounds = parse_spec("--end-game", "rounds=3");
  CHECK(rounds.name == "rounds");
  CHECK(rounds.values == std::vector<std::string>{"3"});
  const Spec stall = parse_spec("--chaos", "stall=p02@10%..20%");
  CHECK(stall.name == "stall");
  CHECK(stall.values == std::vector<std::string>{"p02@10%..20%"});
}

TEST_CASE("a plus sign inside an exponent belongs to the number", "[config]") {
  const Spec spec = parse_spec("--optimizer", "sgd:lr=1e+3,clip=2.E+1+decay:1e-4");
  CHECK(spec.arg("lr") == "1e+3");
  CHECK(spec.arg("clip") == "2.E+1");
  REQUIRE(spec.modifiers.size() == 1);
  CHECK(spec.modifiers[0].name == "decay");
  CHECK(parse_spec("--codec", "topk:1e+ef").modifiers.size() == 1);
}

TEST_CASE("malformed specs are refused by name", "[config]") {
  const std::string text =
      GENERATE("", ":", ":5", "ema:", "ema:,", "ema:a=", "ema:=5", "ema:a=1,a=2", "ema+", "+x",
               "ema++x", "ema:1,,2", "5%", "e ma", "ema:a b=1", ",", "=", "rounds=", "ema:0.5+");
  CAPTURE(text);
  CHECK(contains(complaint([&] { parse_spec("--merge", text); }), "--merge"));
}

TEST_CASE("a spec of unreasonable length is refused", "[config]") {
  CHECK_THROWS_AS(parse_spec("--merge", std::string(kMaxSpecBytes + 1, 'a')), UsageError);
  CHECK(parse_spec("--merge", std::string(kMaxSpecBytes, 'a')).name.size() == kMaxSpecBytes);
}

TEST_CASE("random texts either parse or are refused, and what parses can be read back",
          "[config]") {
  constexpr std::string_view kAlphabet =
      "abz09:,=+%.@*-_ \n\xc3"
      "e\0#"sv;
  std::mt19937_64 engine(7);
  for (int i = 0; i < 50000; ++i) {
    std::string text(engine() % 24, ' ');
    for (char& c : text) {
      c = kAlphabet[engine() % kAlphabet.size()];
    }
    try {
      const Spec spec = parse_spec("--merge", text);
      REQUIRE(spec.text == text);
      REQUIRE_FALSE(spec.name.empty());
      for (const auto& [key, value] : spec.args) {
        REQUIRE_FALSE(key.empty());
        REQUIRE_FALSE(value.empty());
      }
      REQUIRE(parse_spec("--merge", spec.text).args == spec.args);
    } catch (const UsageError&) {
    }
    for (const auto read : {parse_number, parse_share, parse_seconds}) {
      try {
        const double value = read("--time", text);
        REQUIRE(value - value == 0.0);  // finite
      } catch (const UsageError&) {
      }
    }
    try {
      parse_count("--peers", text);
    } catch (const UsageError&) {
    }
    nearest_name(text, {"pairwise", "push", "", text});
  }
}

TEST_CASE("a percent sign is accepted only where a share is meant", "[config]") {
  CHECK(parse_share("--target", "1%") == 0.01);
  CHECK(parse_share("--target", "86%") == 0.86);
  CHECK(parse_share("--target", "0.01") == 0.01);
  CHECK(parse_share("--target", "100%") == 1.0);
  CHECK(contains(complaint([] { parse_share("--target", "86"); }), "did you mean 86%?"));
  CHECK_THROWS_AS(parse_share("--target", "101%"), UsageError);
  CHECK_THROWS_AS(parse_share("--target", "-1%"), UsageError);
  CHECK_THROWS_AS(parse_share("--target", "1%%"), UsageError);
  CHECK(contains(complaint([] { parse_number("--x", "1%"); }), "percent"));
  CHECK(contains(complaint([] { parse_count("--peers", "50%"); }), "percent"));
  CHECK(contains(complaint([] { parse_seconds("--time", "30%"); }), "percent"));
}

TEST_CASE("times carry units and short decimals are exact", "[config]") {
  CHECK(parse_seconds("--time", "30s") == 30.0);
  CHECK(parse_seconds("--time", "30") == 30.0);
  CHECK(parse_seconds("--time", "200ms") == 0.2);
  CHECK(parse_seconds("--time", "0.2ms") == 0.0002);
  CHECK(parse_seconds("--time", "5us") == 5e-6);
  CHECK(parse_seconds("--time", "2min") == 120.0);
  CHECK(parse_seconds("--time", "1.5h") == 5400.0);
  CHECK(contains(complaint([] { parse_seconds("--time", "5 s"); }), "unknown unit"));
  CHECK_THROWS_AS(parse_seconds("--time", "-5s"), UsageError);
  CHECK_THROWS_AS(parse_seconds("--time", ""), UsageError);
}

TEST_CASE("counts are whole, numbers are finite", "[config]") {
  CHECK(parse_count("--seed", "18446744073709551615") == 18446744073709551615ull);
  CHECK_THROWS_AS(parse_count("--seed", "18446744073709551616"), UsageError);
  CHECK_THROWS_AS(parse_count("--seed", "-1"), UsageError);
  CHECK_THROWS_AS(parse_count("--seed", "1.5"), UsageError);
  CHECK_THROWS_AS(parse_count("--seed", " 1"), UsageError);
  CHECK(parse_number("--lr", "1e-3") == 1e-3);
  for (const char* const text : {"nan", "inf", "-inf", "1e999", "0x10", "1 ", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_number("--lr", text), UsageError);
  }
}

TEST_CASE("unknown keys and surplus values are refused with the nearest key", "[config]") {
  const Spec spec = parse_spec("--optimizer", "sgd:momentun=0.9");
  const std::string line = complaint([&] {
    reject_unknown("--optimizer", spec, {"lr", "momentum"}, 0);
  });
  CHECK(contains(line, "momentun"));
  CHECK(contains(line, "did you mean 'momentum'?"));
  CHECK_THROWS_AS(reject_unknown("--merge", parse_spec("--merge", "ema:1,2"), {}, 1), UsageError);
  CHECK_NOTHROW(reject_unknown("--merge", parse_spec("--merge", "ema:1,2"), {}, 2));
  CHECK(contains(complaint([] { reject_unknown("--net", parse_spec("--net", "lan:x=1"), {}, 0); }),
                 "takes no 'x='"));
}

TEST_CASE("a range has two ends, and what is none has one", "[config]") {
  CHECK(split_range("0.1..0.5").from == "0.1");
  CHECK(split_range("0.1..0.5").to == "0.5");
  CHECK(split_range("0.1").from == "0.1");
  CHECK_FALSE(split_range("0.1").to);
  CHECK(split_range("1..").to == "");  // which is refused as no number
  CHECK(split_range("..1").from == "");
  CHECK(split_range("1..2..3").to == "2..3");
  CHECK_FALSE(split_range("").to);
}

TEST_CASE("the nearest name helps with slips and beginnings, and stays silent when far",
          "[config]") {
  const std::vector<std::string> names{"pairwise", "push", "push-sum", "local", "ddp"};
  CHECK(nearest_name("pairwsie", names) == "pairwise");
  CHECK(nearest_name("pus", names) == "push");
  CHECK(nearest_name("pair", names) == "pairwise");
  CHECK_FALSE(nearest_name("zzzzz", names).has_value());
  CHECK_FALSE(nearest_name("", names).has_value());
  const std::string line = complaint([&] { throw_unknown("protocol", "pusch", names); });
  CHECK(line ==
        "unknown protocol 'pusch' (did you mean 'push'? known: pairwise, push, push-sum, local, "
        "ddp)");
}
