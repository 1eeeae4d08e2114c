// SPDX-License-Identifier: Apache-2.0
// The one table of run options. Help, config-file keys, environment names, the config schema and
// the option table of the docs are generated from it, so an option is added here and read in
// config.cpp, nowhere else. Invariant: names are unique; a flag, a key and an environment variable
// are the same thing. Plain data, no lane.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime {

enum class ValueKind { text, file, count, seconds, spec, metric, fault, boolean };

struct Option {
  std::string_view
      name;  // "merge-every": flag --merge-every, key "merge-every", HEARSAY_MERGE_EVERY
  std::string_view default_text;  // "off" where nothing is set, empty where it is worked out later
  ValueKind kind = ValueKind::text;
  std::string_view placeholder;  // "SPEC"; empty for a boolean
  std::string_view help;         // one line of the short help
  std::string_view detail{};     // more, for --help-all and the docs; may be empty
  std::string_view group;        // subject: "pool", "work", ...
  bool in_short_help = true;
  bool repeatable = false;
  bool recorded = true;  // part of what a run is, hence in run.json
};

// What one command accepts. `own` are options that only this command has.
struct CommandSyntax {
  std::string name;                  // "sim"
  std::string words;                 // positional part of the usage line: "[FILE]"
  std::string summary;               // one line
  std::vector<std::string> options;  // names out of the table
  std::vector<Option> own;
  std::size_t max_words = 0;
  std::vector<std::string> examples;
};

std::span<const Option> option_table();
const Option* find_option(std::string_view name);  // null when there is none
std::vector<std::string> option_names();
std::string environment_name(const Option& option);

// Every option that the command accepts, table order first, then its own.
std::vector<Option> accepted_options(const CommandSyntax& syntax);

// What `hearsay sim`, `train` and `launch` accept: the table without what means nothing to them.
const CommandSyntax& sim_syntax();
const CommandSyntax& train_syntax();
const CommandSyntax& launch_syntax();

}  // namespace hearsay::runtime
