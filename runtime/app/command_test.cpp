// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs one command line with stdout and stderr caught.
Outcome run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  std::streambuf* const old_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const old_err = std::cerr.rdbuf(err.rdbuf());
  const int code = run_command_line(args);
  std::cout.rdbuf(old_out);
  std::cerr.rdbuf(old_err);
  return {code, out.str(), err.str()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, line.size());
  }
  return widest;
}

}  // namespace

TEST_CASE("the overview fits one screen and names every command", "[app]") {
  const Outcome outcome = run({"--help"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(lines_in(outcome.out) <= 24);
  CHECK(widest_line(outcome.out) <= 80);
  for (const Command& command : command_table()) {
    CHECK(contains(outcome.out, "\n  " + std::string(command.name) + " "));
  }
  CHECK(run({"help"}).out == outcome.out);
  CHECK(run({"-h"}).out == outcome.out);
}

TEST_CASE("no command at all shows the overview to people and exits 2", "[app]") {
  const Outcome outcome = run({});
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err == overview_text());
}

TEST_CASE("the version is one line", "[app]") {
  const Outcome outcome = run({"--version"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with("hearsay "));
  CHECK(lines_in(outcome.out) == 1);
}

TEST_CASE("an unknown command, word or option exits 2 with one line and the nearest name",
          "[app]") {
  for (const auto& [args, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"simm"}, "did you mean 'sim'?"},
           {{"config", "shwo"}, "did you mean 'show'?"},
           {{"config"}, "show check list"},
           {{"help", "docter"}, "did you mean 'doctor'?"},
           {{"--peers", "3"}, "before the command"},
           {{"config", "show", "--pers", "3"}, "did you mean --peers?"},
           {{"config", "check", "--peers", "0"}, "--peers 0: must be at least 1"},
           {{"config", "check", "--protocol", "pairwize"}, "did you mean 'pairwise'?"},
           {{"doctor", "--peers", "3"}, "hearsay doctor has no option --peers"},
           {{"data", "describe", "synthetic:digits", "--data", "mnist"}, "two data sets"}}) {
    const Outcome outcome = run(args);
    CAPTURE(part, outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("hearsay: "));
    CHECK(lines_in(outcome.err) == 1);
    CHECK(contains(outcome.err, part));
  }
}

TEST_CASE("config show prints every option with its origin", "[app]") {
  const Outcome outcome = run({"config", "show", "--preset", "digits", "--peers", "4"});
  CHECK(outcome.code == 0);
  CHECK(lines_in(outcome.out) == option_table().size());
  std::istringstream lines(outcome.out);
  for (const Option& option : option_table()) {
    std::string line;
    std::getline(lines, line);
    CAPTURE(line);
    CHECK(line.starts_with(std::string(option.name) + " "));
    if (option.name == "peers") {
      CHECK(line.ends_with(" flag"));
    }
    if (option.name == "model") {
      CHECK(contains(line, " mlp:64 "));
      CHECK(line.ends_with(" preset digits"));
    }
  }
}

TEST_CASE("what config show --json prints is a config file that config check accepts", "[app]") {
  const Outcome shown = run(
      {"config", "show", "--json", "--preset", "digits", "--seed", "7", "--chaos", "kill=1@30%"});
  REQUIRE(shown.code == 0);
  CHECK(nlohmann::json::parse(shown.out)["config"]["seed"]["value"] == "7");
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("hearsay-command-" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << shown.out;
  const Outcome checked = run({"config", "check", path.string()});
  const Outcome again = run({"config", "show", "--json", "--config", path.string()});
  std::filesystem::remove(path);
  CHECK(checked.code == 0);
  CHECK(checked.out.starts_with("ok: 8 peers, synthetic:digits"));
  const auto first = nlohmann::json::parse(shown.out)["config"];
  const auto second = nlohmann::json::parse(again.out)["config"];
  REQUIRE(first.size() == second.size());
  for (const auto& [name, entry] : first.items()) {
    CAPTURE(name);
    CHECK(second[name]["value"] == entry["value"]);
  }
}

TEST_CASE("config check warns of a variable that is no option", "[app]") {
  ::setenv("HEARSAY_PERS", "4", 1);
  const Outcome outcome = run({"config", "check"});
  ::unsetenv("HEARSAY_PERS");
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.err, "HEARSAY_PERS is not an option (did you mean HEARSAY_PEER"));
}

TEST_CASE("config list prints the catalog, its JSON, the docs table and the schema", "[app]") {
  CHECK(contains(run({"config", "list"}).out, "2 messages, 8N bytes an exchange"));
  CHECK(nlohmann::json::parse(run({"config", "list", "--json"}).out).contains("protocol"));
  CHECK(run({"config", "list", "--markdown"}).out.starts_with("| flag |"));
  CHECK(nlohmann::json::parse(run({"config", "list", "--schema"}).out)["properties"].contains(
      "merge-every"));
}

TEST_CASE("every word of config, data and doctor has a help of one screen", "[app]") {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"config", "show", "--help"},
                                             {"config", "check", "--help"},
                                             {"config", "list", "--help"},
                                             {"data", "describe", "--help"},
                                             {"data", "split", "--help"},
                                             {"doctor", "--help"},
                                             {"config", "--help"},
                                             {"data", "-h"},
                                             {"help", "config"},
                                             {"help", "config", "list"}}) {
    const Outcome outcome = run(args);
    CAPTURE(args, outcome.out);
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "hearsay "));
    CHECK(lines_in(outcome.out) <= 40);
    CHECK(widest_line(outcome.out) <= 80);
  }
}

TEST_CASE("data describe and data split read the generated digits", "[app]") {
  const Outcome described = run({"data", "describe", "synthetic:digits", "--json"});
  CHECK(described.code == 0);
  CHECK(nlohmann::json::accept(described.out));
  const Outcome divided =
      run({"data", "split", "synthetic:digits", "--peers", "4", "--split", "labels:3"});
  CHECK(divided.code == 0);
  CHECK(contains(divided.out, "p03"));
}

TEST_CASE("a result that cannot be written is an error", "[app]") {
  std::ofstream full("/dev/full");
  if (!full) {
    return;
  }
  std::ostringstream err;
  std::streambuf* const old_out = std::cout.rdbuf(full.rdbuf());
  std::streambuf* const old_err = std::cerr.rdbuf(err.rdbuf());
  const int code = run_command_line({"config", "list"});
  std::cout.rdbuf(old_out);
  std::cerr.rdbuf(old_err);
  std::cout.clear();
  CHECK(code == 2);
  CHECK(contains(err.str(), "stdout"));
}
