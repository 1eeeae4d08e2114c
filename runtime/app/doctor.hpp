// SPDX-License-Identifier: Apache-2.0
// What this machine can do, as a list of findings: one line for people and the same facts as JSON.
// A missing part is a finding, never an error. Cost: about a second at most (mpirun --version and a
// read of the default data set).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/config/config.hpp"

namespace hearsay::runtime {

struct Finding {
  std::string subject;  // "cuda", "blas", ...; unique
  bool usable = true;   // false: the part is missing or broken, `text` says why and what helps
  std::string text;
  nlohmann::ordered_json facts;  // object
};

std::vector<Finding> examine_machine(const Environment& environment);

// Open MPI refuses to start anything for root unless a flag or two variables say that it may.
bool needs_run_as_root(const Environment& environment, const std::string& version, bool is_root);

std::string findings_text(const std::vector<Finding>& findings);
nlohmann::ordered_json findings_json(const std::vector<Finding>& findings);

}  // namespace hearsay::runtime
