// SPDX-License-Identifier: Apache-2.0
// hearsay doctor: prints the findings. Exits 0 whatever is missing: what a run needs is decided by
// the run.
#include <iostream>

#include "runtime/app/command.hpp"
#include "runtime/app/doctor.hpp"

namespace hearsay::runtime {

int command_doctor(const std::vector<std::string>& args) {
  CommandSyntax syntax;
  syntax.name = "doctor";
  syntax.summary = "what this machine can do, and why not more";
  syntax.options = {"json"};
  syntax.examples = {"hearsay doctor"};
  const Arguments arguments = parse_arguments(syntax, args);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const bool json = wants_json(arguments);
  const std::vector<Finding> findings = examine_machine(process_environment());
  if (json) {
    // Device names and paths may hold any bytes.
    std::cout << findings_json(findings).dump(2, ' ', false,
                                              nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << findings_text(findings);
  }
  return 0;
}

}  // namespace hearsay::runtime
