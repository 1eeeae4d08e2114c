// SPDX-License-Identifier: Apache-2.0
// Options of the table by name, and the names that follow from theirs.
#include <algorithm>

#include "runtime/config/option_table.hpp"

namespace hearsay::runtime {

const Option* find_option(std::string_view name) {
  const auto found = std::find_if(option_table().begin(), option_table().end(),
                                  [name](const Option& option) { return option.name == name; });
  return found == option_table().end() ? nullptr : &*found;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    names.emplace_back(option.name);
  }
  return names;
}

std::string environment_name(const Option& option) {
  std::string name = "HEARSAY_";
  for (const char c : option.name) {
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

}  // namespace hearsay::runtime
