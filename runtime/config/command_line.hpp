// SPDX-License-Identifier: Apache-2.0
// Splits the words after a command into options and plain words, by the command's syntax. Nothing
// is interpreted here: values stay text. Prefix abbreviations are refused, and every refusal names
// the word and the nearest option.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/config/option_table.hpp"

namespace hearsay::runtime {

struct Arguments {
  std::vector<std::pair<std::string, std::string>>
      flags;  // name without dashes, text; in the order given
  std::vector<std::string> words;
  bool help = false;
  bool help_all = false;

  bool has(std::string_view name) const;
  bool is_on(std::string_view name) const;  // a boolean given and not "=false"
  std::optional<std::string> value(std::string_view name) const;
};

// Throws UsageError: unknown option, missing value, an option twice that is not repeatable, too
// many words.
Arguments parse_arguments(const CommandSyntax& syntax, const std::vector<std::string>& args);

// The help that was asked for (-h, --help, --help-all), if any.
std::optional<std::string> help_text(const CommandSyntax& syntax, const Arguments& arguments);

}  // namespace hearsay::runtime
