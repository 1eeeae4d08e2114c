// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "runtime/app/command.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

std::string overview_text() {
  std::string text =
      "hearsay: peers train their own models and learn from each other by gossip\n"
      "\n"
      "usage: hearsay COMMAND [options]\n"
      "\n";
  for (const Command& command : command_table()) {
    std::string left = "  " + std::string(command.name);
    left.resize(10, ' ');
    text += left + std::string(command.summary) + "\n";
  }
  return text +
         "\n"
         "examples:\n"
         "  hearsay doctor\n"
         "  hearsay sim --preset digits\n"
         "  hearsay sim --peers 16 --topology ring --merge-every 2 --seed 7\n"
         "\n"
         "COMMAND --help lists options, --help-all explains them; --version: which build.\n";
}

int command_help(const std::vector<std::string>& args) {
  if (args.empty() || args.front().starts_with("-") || args.front() == "help") {
    std::cout << overview_text();
    return 0;
  }
  std::vector<std::string> known;
  for (const Command& command : command_table()) {
    if (command.name == args.front()) {
      std::vector<std::string> rest(args.begin() + 1, args.end());
      rest.emplace_back("--help");
      return command.run(rest);
    }
    known.emplace_back(command.name);
  }
  throw_unknown("command", args.front(), known);
}

}  // namespace hearsay::runtime
