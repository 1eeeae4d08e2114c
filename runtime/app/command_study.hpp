// SPDX-License-Identifier: Apache-2.0
// hearsay sim --study FILE.
#pragma once

#include <string>

#include "runtime/config/command_line.hpp"

namespace hearsay::runtime {

// Returns the exit code: 1 when a run failed, 128 + signal when it was interrupted.
int run_study(const Arguments& arguments, const std::string& path);

}  // namespace hearsay::runtime
