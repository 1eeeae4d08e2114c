// SPDX-License-Identifier: Apache-2.0
// Which build this is. The texts are filled in when CMake configures (version.cpp.in).
#pragma once

#include <string>

namespace hearsay::runtime {

std::string version_number();  // "0.1.0"
std::string git_commit();      // "1a2b3c4", "unknown" outside a checkout
std::string build_text();      // compiler and build type
std::string version_text();    // "hearsay 0.1.0 (git 1a2b3c4)"

}  // namespace hearsay::runtime
