// SPDX-License-Identifier: Apache-2.0
// Texts generated from the option table: the short help (one screen), the full help by subject, the
// table of the docs and the JSON Schema of config files. Pure functions of the table.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/config/option_table.hpp"

namespace hearsay::runtime {

inline constexpr std::size_t kHelpColumns = 80;  // a screen, for every help text
inline constexpr std::size_t kHelpLines = 40;    // for the short help of any command

std::string short_help(const CommandSyntax& syntax);
std::string full_help(const CommandSyntax& syntax);

// | flag | key, environment | default | meaning |   for the docs.
std::string options_markdown();

// JSON Schema (2020-12) of a config file: every recorded option, plus those about output.
nlohmann::ordered_json config_schema();

}  // namespace hearsay::runtime
