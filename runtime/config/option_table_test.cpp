// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/option_table.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "kernels/core/errc.hpp"
#include "runtime/config/command_line.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/option_help.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("option names and environment names are unique", "[config]") {
  std::set<std::string> names;
  std::set<std::string> variables;
  for (const Option& option : option_table()) {
    CHECK(names.insert(std::string(option.name)).second);
    CHECK(variables.insert(environment_name(option)).second);
    CHECK((option.kind == ValueKind::boolean) == option.placeholder.empty());
  }
  CHECK(environment_name(*find_option("merge-every")) == "HEARSAY_MERGE_EVERY");
  CHECK(find_option("rank") == nullptr);
}

TEST_CASE("every option appears in the full help, the schema, the environment and the docs table",
          "[config]") {
  const std::string help = full_help(sim_syntax()) + full_help(train_syntax());
  const std::string docs = options_markdown();
  const auto properties = config_schema()["properties"];
  for (const Option& option : option_table()) {
    const std::string name(option.name);
    CAPTURE(name);
    CHECK(contains(help, "--" + name));
    CHECK(contains(help, environment_name(option) + "\n"));
    CHECK(contains(docs, "`--" + name));
    CHECK(contains(docs, "`" + environment_name(option) + "`"));
    CHECK((name == "config" || properties.contains(name)));
    Environment environment{
        {environment_name(option), option.kind == ValueKind::boolean ? "true" : "x"}};
    if (name != "config" && name != "preset" && name != "scenario") {
      CHECK(merge_settings({}, environment).origin(name) ==
            "environment " + environment_name(option));
    }
  }
}

TEST_CASE("the help of every run command fits a screen, and all of it names every option",
          "[config]") {
  for (const CommandSyntax* syntax : {&sim_syntax(), &train_syntax(), &launch_syntax()}) {
    CAPTURE(syntax->name);
    const std::string help = short_help(*syntax);
    const std::vector<std::string> lines = lines_of(help);
    CHECK(lines.size() <= kHelpLines);
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(line.size() <= kHelpColumns);
    }
    const std::string all = full_help(*syntax);
    for (const Option& option : accepted_options(*syntax)) {
      CAPTURE(option.name);
      CHECK(contains(option.in_short_help ? help : all, "  --" + std::string(option.name)));
    }
    for (const std::string& line : lines_of(full_help(*syntax))) {
      CAPTURE(line);
      CHECK(line.size() <= kHelpColumns);
    }
  }
}

TEST_CASE("a command accepts only the options of its syntax", "[config]") {
  CommandSyntax syntax;
  syntax.name = "doctor";
  syntax.options = {"json"};
  syntax.own = {Option{.name = "require",
                       .default_text = "off",
                       .kind = ValueKind::count,
                       .placeholder = "N",
                       .help = "a bound",
                       .detail = "",
                       .group = "doctor"}};
  CHECK(parse_arguments(syntax, {"--json", "--require", "3"}).value("require") == "3");
  CHECK(help_text(syntax, parse_arguments(syntax, {"-h"})).has_value());
  CHECK_FALSE(help_text(syntax, parse_arguments(syntax, {"--json"})).has_value());
  CHECK_THROWS_WITH(
      parse_arguments(syntax, {"--peers", "3"}),
      "hearsay doctor has no option --peers; hearsay doctor --help lists what it has");
  CHECK_THROWS_AS(parse_arguments(syntax, {"word"}), hearsay::kernels::UsageError);
}
