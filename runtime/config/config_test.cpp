// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/config.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "kernels/core/errc.hpp"
#include "runtime/config/bandwidth.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/presets.hpp"
#include "tests/catch.hpp"

using hearsay::kernels::UsageError;
using namespace hearsay::runtime;

namespace {

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

// A file that is gone when the test is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("hearsay-config-" + std::to_string(::getpid()) + ".json")) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Settings settings_of(const std::vector<std::string>& args, const Environment& environment = {}) {
  return merge_settings(parse_arguments(sim_syntax(), args), environment);
}

RunConfig config_of(const std::vector<std::string>& args) {
  return typed_config(settings_of(args));
}

std::string complaint_of(const std::vector<std::string>& args,
                         const Environment& environment = {}) {
  return complaint([&] { typed_config(settings_of(args, environment)); });
}

}  // namespace

TEST_CASE("a bandwidth is bytes a second, whatever unit it is written in") {
  CHECK_FALSE(parse_bandwidth("--bandwidth", "off").has_value());
  CHECK(parse_bandwidth("--bandwidth", "10MiB/s") == 10.0 * 1024 * 1024);
  CHECK(parse_bandwidth("--bandwidth", "1.5kB/s") == 1500.0);
  CHECK(parse_bandwidth("--bandwidth", "100Mb/s") == 12.5e6);
  CHECK(parse_bandwidth("--bandwidth", "1Gb/s") == 1.25e8);
  CHECK(parse_bandwidth("--bandwidth", "7B/s") == 7.0);
}

TEST_CASE(
    "flag beats environment beats file beats preset beats default, and each says where it came "
    "from",
    "[config]") {
  const TemporaryFile file(R"({"preset": "digits", "peers": 5, "epochs": 3, "batch": 16})");
  const Environment environment{
      {"HEARSAY_PEERS", "6"}, {"HEARSAY_BATCH", "64"}, {"HEARSAY_SEED", ""}};
  const Settings settings = settings_of({"--config", file.path(), "--batch", "8"}, environment);
  CHECK(settings.text("batch") == "8");
  CHECK(settings.origin("batch") == "flag");
  CHECK(settings.text("peers") == "6");
  CHECK(settings.origin("peers") == "environment HEARSAY_PEERS");
  CHECK(settings.text("epochs") == "3");
  CHECK(settings.origin("epochs") == "file " + file.path());
  CHECK(settings.text("model") == "mlp:64");
  CHECK(settings.origin("model") == "preset digits");
  CHECK(settings.text("seed") == "0");
  CHECK(settings.origin("seed") == "default");
  CHECK(settings.text("preset") == "digits");
  const RunConfig config = typed_config(settings);
  CHECK(config.peers == 6);
  CHECK(config.batch == 8);
  CHECK(config.epochs == 3);
}

TEST_CASE("the preset is chosen by the same order of precedence", "[config]") {
  const TemporaryFile file(R"({"preset": "digits"})");
  CHECK(settings_of({"--config", file.path(), "--preset", "fashion"}).text("data") ==
        "fashion-mnist");
  CHECK(settings_of({"--config", file.path()}).text("data") == "synthetic:digits");
  CHECK(settings_of({}, {{"HEARSAY_PRESET", "digits"}}).text("model") == "mlp:64");
  CHECK(contains(complaint_of({"--preset", "digit"}), "did you mean 'digits'?"));
  CHECK(contains(complaint_of({}, {{"HEARSAY_PRESET", "zzz"}}), "known: fashion, digits"));
}

TEST_CASE("the defaults are the documented ones", "[config]") {
  const RunConfig config = config_of({});
  CHECK(config.run_dir.empty());
  CHECK(config.preset == "fashion");
  CHECK(config.peers == 8);
  CHECK(config.min_peers == 1);
  CHECK(config.data == "fashion-mnist");
  CHECK(config.split == "iid");
  CHECK(config.model.values == std::vector<std::string>{"256", "128"});
  CHECK(config.epochs == 20);
  CHECK_FALSE(config.time_s.has_value());
  CHECK_FALSE(config.target.has_value());
  CHECK(config.optimizer.arg("lr") == "0.05");
  CHECK(config.batch == 32);
  CHECK(config.merge_every.name == "1");
  CHECK(config.merge.text == "ema:0.5");
  CHECK(config.end_game.name == "off");
  CHECK(config.eval_every.arg("n") == "2000");
  CHECK(config.chaos.empty());
  CHECK_FALSE(config.wait);
}

TEST_CASE("every preset gives a valid configuration", "[config]") {
  for (const Preset& preset : presets()) {
    CAPTURE(std::string(preset.name));
    CHECK_NOTHROW(config_of({"--preset", std::string(preset.name)}));
  }
}

TEST_CASE("an unknown flag names itself and the nearest flag", "[config]") {
  CHECK(complaint_of({"--pers", "4"}) == "unknown option --pers (did you mean --peers?)");
  CHECK(complaint_of({"--merge_every=4"}) ==
        "unknown option --merge_every (did you mean --merge-every?)");
  CHECK(contains(complaint_of({"-seed", "4"}), "did you mean --seed?"));
  CHECK(contains(complaint_of({"--qqqqqqqq"}), "unknown option --qqqqqqqq"));
  CHECK(contains(complaint_of({"--=4"}), "unknown option"));
}

TEST_CASE("abbreviated flags are refused", "[config]") {
  CHECK(complaint_of({"--proto", "push"}) == "unknown option --proto (did you mean --protocol?)");
  CHECK(contains(complaint_of({"--dry"}), "unknown option --dry"));
}

TEST_CASE("a missing value, a value twice and a stray word are told apart", "[config]") {
  CHECK(complaint_of({"--peers"}) == "--peers needs a value");
  CHECK(complaint_of({"--peers="}) == "--peers needs a value");
  CHECK(complaint_of({"--peers", "--json"}) == "--peers needs a value (N), but --json follows");
  CHECK(complaint_of({"--peers", "4", "--peers", "5"}) == "--peers is given twice");
  CHECK(contains(complaint_of({"digits"}), "unexpected word 'digits'"));
  CHECK(contains(complaint_of({"--json", "digits"}), "unexpected word 'digits'"));
}

TEST_CASE("booleans may be switched off by name", "[config]") {
  CHECK(config_of({"--wait"}).wait);
  CHECK_FALSE(config_of({"--wait=false"}).wait);
  CHECK(typed_config(settings_of({}, {{"HEARSAY_WAIT", "1"}})).wait);
  CHECK_FALSE(typed_config(settings_of({"--wait=no"}, {{"HEARSAY_WAIT", "1"}})).wait);
  CHECK(contains(complaint_of({}, {{"HEARSAY_WAIT", "maybe"}}), "(from environment HEARSAY_WAIT)"));
}

TEST_CASE("impossible values are refused and say where they came from", "[config]") {
  CHECK(contains(complaint_of({"--peers", "0"}), "--peers 0: must be at least 1"));
  CHECK(contains(complaint_of({"--peers", "-2"}), "--peers '-2'"));
  CHECK(contains(complaint_of({"--peers", "50%"}), "percent"));
  CHECK(
      contains(complaint_of({"--peers", "4", "--min-peers", "5"}), "the pool has only --peers 4"));
  CHECK(contains(complaint_of({}, {{"HEARSAY_PEERS", "0"}}), "(from environment HEARSAY_PEERS)"));
  for (const auto& [flag, text] :
       std::vector<std::pair<std::string, std::string>>{{"--epochs", "0"},
                                                        {"--batch", "0"},
                                                        {"--min-peers", "0"},
                                                        {"--time", "0s"},
                                                        {"--time", "10%"},
                                                        {"--target", "loss=3"},
                                                        {"--target", "test_acc"},
                                                        {"--target", "test_acc=2"},
                                                        {"--merge-every", "0"},
                                                        {"--merge-every", "0.5,mode=literal"},
                                                        {"--merge-every", "1,mode=stepz"},
                                                        {"--merge-every", "5%"},
                                                        {"--merge-every", "1,steps=3"},
                                                        {"--eval-every", "-1"},
                                                        {"--eval-every", "1,n=0"},
                                                        {"--end-game", "on"},
                                                        {"--end-game", "rounds=0"},
                                                        {"--end-game", "rounds"},
                                                        {"--end-game", "off:1"},
                                                        {"--seed", "-1"},
                                                        {"--chaos", "kill"},
                                                        {"--data", ""},
                                                        {"--chaos", "kill=a,b"},
                                                        {"--merge", "ema:"},
                                                        {"--bandwidth", "10"},
                                                        {"--bandwidth", "10MiB"},
                                                        {"--bandwidth", "-1MB/s"},
                                                        {"--bandwidth", "0kB/s"},
                                                        {"--bandwidth", "xMB/s"},
                                                        {"--bandwidth", ""},
                                                        {"--peers", "5000000000"}}) {
    CAPTURE(flag, text);
    CHECK(contains(complaint_of({flag, text}), flag.substr(2)));
  }
}

TEST_CASE("shares, times and faults are read", "[config]") {
  const RunConfig config =
      config_of({"--target", "test_acc=86%", "--time", "2min", "--chaos", "kill=1@30%", "--chaos",
                 "drop=1%", "--merge-every", "0.0625", "--end-game", "rounds=3"});
  REQUIRE(config.target.has_value());
  CHECK(config.target->metric == "test_acc");
  CHECK(config.target->value == 0.86);
  CHECK(config.time_s == 120.0);
  CHECK(config.chaos == std::vector<std::string>{"kill=1@30%", "drop=1%"});
  CHECK(config.merge_every.name == "0.0625");
  CHECK(config.end_game.values == std::vector<std::string>{"3"});
}

TEST_CASE("faults replace those of the layer below and are off by word", "[config]") {
  const Environment environment{{"HEARSAY_CHAOS", "kill=1@30%; drop=1% ;"}};
  CHECK(typed_config(settings_of({}, environment)).chaos ==
        std::vector<std::string>{"kill=1@30%", "drop=1%"});
  CHECK(typed_config(settings_of({"--chaos", "off"}, environment)).chaos.empty());
  CHECK(typed_config(settings_of({"--chaos", "slow=p03*4"}, environment)).chaos.size() == 1);
  CHECK(typed_config(settings_of({}, {{"HEARSAY_CHAOS", " ; "}})).chaos.empty());
  CHECK(config_of({"--chaos", "slow:p03*4"}).chaos == std::vector<std::string>{"slow=p03*4"});
}

TEST_CASE("the folder of a data set may hold any character", "[config]") {
  CHECK(config_of({"--data", "mnist:/a,b+c=d/50%"}).data == "mnist:/a,b+c=d/50%");
}

TEST_CASE("HEARSAY_DATA may name a folder, which is not the data set", "[config]") {
  CHECK(settings_of({}, {{"HEARSAY_DATA", "/srv/data"}}).text("data") == "fashion-mnist");
  CHECK(settings_of({}, {{"HEARSAY_DATA", "synthetic:digits"}}).text("data") == "synthetic:digits");
  CHECK(settings_of({}, {{"HEARSAY_DATA", "mnist:/srv/data"}}).text("data") == "mnist:/srv/data");
}

TEST_CASE("config files take comments, numbers, booleans, arrays and objects", "[config]") {
  const OptionTexts texts = parse_config_text(R"({
    // a small pool
    "peers": 4, "batch": 16.0, "wait": true, "seed": 18446744073709551615,
    "chaos": ["kill=1@30%", {"name": "slow", "values": ["p03*4"]}],
    "merge": {"name": "ema", "a": "0.1..0.5", "staleness": {"half-life": 20},
              "norm-clip": true, "similarity": false},
    "merge-every": {"name": 1, "mode": "steps"},
    "optimizer": {"name": "adamw", "lr": 1e-3},
    "model": {"name": "mlp", "values": [256, 128]},
    "end-game": {"rounds": 3},
    "target": {"test_acc": 0.86}
  })",
                                              "pool.json");
  CHECK(texts.at("peers").front() == "4");
  CHECK(texts.at("batch").front() == "16");
  CHECK(texts.at("wait").front() == "true");
  CHECK(texts.at("seed").front() == "18446744073709551615");
  CHECK(texts.at("chaos") == std::vector<std::string>{"kill=1@30%", "slow:p03*4"});
  CHECK(texts.at("merge").front() == "ema:a=0.1..0.5+staleness:half-life=20+norm-clip");
  CHECK(texts.at("merge-every").front() == "1,mode=steps");
  CHECK(texts.at("optimizer").front() == "adamw:lr=0.001");
  CHECK(texts.at("model").front() == "mlp:256,128");
  CHECK(texts.at("end-game").front() == "rounds=3");
  CHECK(texts.at("target").front() == "test_acc=0.86");
}

TEST_CASE("a config file with an unknown or repeated key is refused with the nearest name",
          "[config]") {
  CHECK(complaint([] { parse_config_text(R"({"merge_every": 2})", "pool.json"); }) ==
        "pool.json: unknown key 'merge_every' (did you mean 'merge-every'?)");
  CHECK(contains(complaint([] { parse_config_text(R"({"peers": 2, "peers": 3})", "pool.json"); }),
                 "key 'peers' is given twice"));
  CHECK(contains(complaint([] { parse_config_text(R"({"config": "x.json"})", "pool.json"); }),
                 "cannot name another"));
  for (const char* const text :
       {R"({"peers": null})", R"({"peers": [1]})", R"({"peers": true})", R"({"peers": {"a": 1}})",
        R"({"merge": {"a": 1, "b": 2}})", R"({"wait": [true]})", "[]", "3",
        R"({"merge": {"name": "a", "b": {"c": {"d": {"e": 1}}}}})"}) {
    CAPTURE(text);
    CHECK(contains(complaint([&] { parse_config_text(text, "pool.json"); }), "pool.json"));
  }
}

TEST_CASE("malformed JSON is reported with file, line and column", "[config]") {
  CHECK(contains(
      complaint([] { parse_config_text("{\n  \"peers\": 4,\n  \"seed\" 1\n}", "pool.json"); }),
      "pool.json:3:10: not valid JSON: "));
  CHECK(contains(complaint([] { parse_config_text("", "pool.json"); }),
                 "pool.json:1:1: not valid JSON: "));
  CHECK(contains(complaint([] { parse_config_text("{\"peers\": 4", "pool.json"); }),
                 "pool.json:1:12: not valid JSON: "));
  CHECK(contains(complaint([] { parse_config_text("x", "pool.json"); }), "pool.json:1:1: "));
}

TEST_CASE("random config texts never crash the reader", "[config]") {
  const std::vector<std::string> pieces{
      "{",         "}",        "[",          "]",         ":",         ",",  "\"peers\"",
      "\"merge\"", "\"name\"", "\"config\"", "\"value\"", "\"chaos\"", "1",  "1e400",
      "-0.0",      "true",     "null",       "\"ema\"",   "//",        "\n", "\"\\ud800\"",
      "\xff",      "\"",       "\"values\"", "/*",        "*/"};
  std::mt19937_64 engine(11);
  for (int i = 0; i < 20000; ++i) {
    std::string text = engine() % 2 == 0 ? "{" : "";
    for (std::size_t n = engine() % 14; n > 0; --n) {
      text += pieces[engine() % pieces.size()];
    }
    try {
      parse_config_text(text, "fuzz.json");
    } catch (const UsageError&) {
    }
  }
}

TEST_CASE("a missing config file and a folder are usage errors", "[config]") {
  CHECK(contains(complaint_of({"--config", "no/such/file.json"}), "no/such/file.json"));
  CHECK(contains(complaint_of({"--config", std::filesystem::temp_directory_path().string()}),
                 "--config"));
}

TEST_CASE("the config section of run.json repeats the run", "[config]") {
  const Settings first =
      settings_of({"--preset", "digits", "--run", "runs/a", "--json", "--seed", "7", "--chaos",
                   "kill=1@30%", "--chaos", "drop=1%", "--merge-every", "2,mode=truncated"});
  nlohmann::ordered_json run;
  run["schema"] = 1;
  run["config"] = config_json(first);
  CHECK(run["config"]["seed"]["value"] == "7");
  CHECK(run["config"]["seed"]["origin"] == "flag");
  CHECK(run["config"]["model"]["origin"] == "preset digits");
  CHECK(run["config"]["merge"]["origin"] == "default");
  CHECK_FALSE(run["config"].contains("run"));
  const TemporaryFile file(run.dump(2));
  const Settings second = settings_of({"--config", file.path()});
  for (const Option& option : option_table()) {
    if (option.recorded) {
      CAPTURE(std::string(option.name));
      CHECK(second.text(option.name) == first.text(option.name));
      CHECK(second.at(option.name).values == first.at(option.name).values);
    }
  }
  CHECK(typed_config(second).chaos.size() == 2);
  CHECK(settings_of({"--config", file.path(), "--seed", "1"}).origin("seed") == "flag");
}
