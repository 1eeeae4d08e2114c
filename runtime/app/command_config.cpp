// SPDX-License-Identifier: Apache-2.0
// hearsay config: show (every option with its origin), check (form and names), list (parts and
// their costs).
#include <algorithm>
#include <iostream>

#include "kernels/core/errc.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/command.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/option_help.hpp"

namespace hearsay::runtime {

namespace {

CommandSyntax run_syntax(const std::string& name, const std::string& words,
                         const std::string& summary, const std::string& example) {
  CommandSyntax syntax;
  syntax.name = name;
  syntax.words = words;
  syntax.summary = summary;
  syntax.options = option_names();
  syntax.max_words = words.empty() ? 0 : 1;
  syntax.examples = {example};
  return syntax;
}

int show(const std::vector<std::string>& args) {
  const CommandSyntax syntax =
      run_syntax("config show", "", "every option, its text and its origin",
                 "hearsay config show --preset digits --peers 4");
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const Settings settings = merge_settings(arguments, process_environment());
  if (typed_config(settings).json) {
    std::cout << nlohmann::ordered_json{{"config", config_json(settings)}}.dump(2) << "\n";
    return 0;
  }
  constexpr std::size_t kNameColumns = 17;
  constexpr std::size_t kTextColumns = 48;  // a longer text moves its origin to the right
  std::size_t text_columns = 0;
  for (const Option& option : option_table()) {
    text_columns = std::max(text_columns, settings.text(option.name).size());
  }
  const std::size_t origin_column = kNameColumns + std::min(text_columns, kTextColumns) + 2;
  for (const Option& option : option_table()) {
    const std::string text = settings.text(option.name);
    std::string line(option.name);
    line.resize(kNameColumns, ' ');
    line += text.empty() ? "-" : text;
    line.resize(std::max(origin_column, line.size() + 2), ' ');
    std::cout << line << settings.origin(option.name) << "\n";
  }
  return 0;
}

// A misspelt variable would be passed over in silence, so check says so.
void warn_about_variables(const Environment& environment) {
  std::vector<std::string> known{"HEARSAY_PEER", "HEARSAY_LOCAL_RANK"};
  for (const Option& option : option_table()) {
    known.push_back(environment_name(option));
  }
  for (const auto& [name, value] : environment) {
    if (name.starts_with("HEARSAY_") &&
        std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest_name(name, known);
      std::cerr << "warning: environment variable " << name << " is not an option"
                << (near ? " (did you mean " + *near + "?)" : std::string()) << "\n";
    }
  }
}

int check(const std::vector<std::string>& args) {
  const CommandSyntax syntax =
      run_syntax("config check", "[FILE]", "validate options and names, then say ok",
                 "hearsay config check pool.json");
  Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  if (!arguments.words.empty()) {
    if (arguments.has("config")) {
      throw kernels::UsageError("hearsay config check: two files, " + *arguments.value("config") +
                                " and " + arguments.words.front());
    }
    arguments.flags.emplace_back("config", arguments.words.front());
  }
  const Environment environment = process_environment();
  const Settings settings = merge_settings(arguments, environment);
  const RunConfig config = typed_config(settings);
  with_origins(settings, [&] { check_names(config); });
  warn_about_variables(environment);
  if (config.json) {
    std::cout << nlohmann::ordered_json{{"ok", true}, {"config", config_json(settings)}}.dump(2)
              << "\n";
  } else {
    std::cout << "ok: " << config.peers << " peers, " << config.data << " split " << config.split
              << ", " << config.model.text << ", " << config.protocol.text << " over "
              << config.topology.text << ", merge " << config.merge.text << "\n";
  }
  return 0;
}

int list(const std::vector<std::string>& args) {
  CommandSyntax syntax;
  syntax.name = "config list";
  syntax.summary = "every named part with its cost";
  syntax.options = {"json"};
  syntax.own = {Option{.name = "markdown",
                       .default_text = "false",
                       .kind = ValueKind::boolean,
                       .placeholder = "",
                       .help = "the table of run options for the docs",
                       .detail = "",
                       .group = "output"},
                Option{.name = "schema",
                       .default_text = "false",
                       .kind = ValueKind::boolean,
                       .placeholder = "",
                       .help = "the JSON Schema of config files",
                       .detail = "",
                       .group = "output"}};
  syntax.examples = {"hearsay config list"};
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
  } else if (arguments.is_on("markdown")) {
    std::cout << options_markdown();
  } else if (arguments.is_on("schema")) {
    std::cout << config_schema().dump(2) << "\n";
  } else if (wants_json(arguments)) {
    std::cout << catalog_json().dump(2) << "\n";
  } else {
    std::cout << catalog_text();
  }
  return 0;
}

}  // namespace

int command_config(const std::vector<std::string>& args) {
  static const std::vector<Verb> verbs{{"show", "every option, its text and its origin", show},
                                       {"check", "validate options and names, then say ok", check},
                                       {"list", "every named part with its cost", list}};
  return run_verb("config", verbs, args);
}

}  // namespace hearsay::runtime
