// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/study_file.hpp"

#include "kernels/core/errc.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("a study has all combinations of what varies, the last key fastest") {
  const Study study = parse_study(
      R"({"base": {"peers": 4}, "vary": {"merge-every": [1, 0.5], "chaos": ["off", ["drop=1%"]],
          "seed": [0, 1, 2]}})",
      "s.json");
  CHECK(study.keys == std::vector<std::string>{"merge-every", "chaos", "seed"});
  REQUIRE(study.points.size() == 12);
  CHECK(study.points[0].name == "merge-every=1,chaos=off,seed=0");
  CHECK(study.points[1].config["seed"] == 1);
  CHECK(study.points[11].config["merge-every"] == 0.5);
  CHECK(study.points[11].config["peers"] == 4);
  CHECK(study.points[11].name == "merge-every=0.5,chaos=__drop_1___,seed=2");
}

TEST_CASE("values that look alike as file names have different folders") {
  const Study study =
      parse_study(R"({"vary": {"merge": ["ema:0.5", "ema/0.5", "ema 0.5"]}})", "s.json");
  CHECK(study.points[0].name == "merge=ema_0.5");
  CHECK(study.points[1].name == "merge=ema_0.5~2");
  CHECK(study.points[2].name == "merge=ema_0.5~3");
}

TEST_CASE("what is no study is refused, and says why") {
  for (const auto& [text, line] : std::vector<std::pair<std::string, std::string>>{
           {"[]", R"(s.json: a study is {"base": {...}, "vary": {"seed": [0, 1, 2]}})"},
           {R"({"vary": {"seed": []}})", "s.json: 'seed' in vary is a list of at least one value"},
           {R"({"vary": {"sed": [1]}})",
            "s.json: 'sed' in vary is no option (did you mean 'seed'?)"},
           {R"({"base": {"threads": 2}, "vary": {"seed": [1]}})",
            "s.json: 'threads' in base is a matter of the call; give it as a flag, or leave it "
            "out"},
           {R"({"bases": {}, "vary": {"seed": [1]}})",
            "s.json: unknown key 'bases'; a study has base and vary"}}) {
    CHECK_THROWS_WITH(parse_study(text, "s.json"), line);
  }
  CHECK_THROWS_AS(parse_study("{", "s.json"), hearsay::kernels::UsageError);
  std::string many = R"({"vary": {"seed": [)";
  for (int i = 0; i < 400; ++i) many += std::to_string(i) + ",";
  many.back() = ']';
  std::string peers = R"(, "peers": [)";
  for (int i = 1; i < 400; ++i) peers += std::to_string(i) + ",";
  peers.back() = ']';
  CHECK_THROWS_WITH(parse_study(many + peers + "}}", "s.json"), "s.json: more than 100000 runs");
}
