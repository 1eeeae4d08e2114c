// SPDX-License-Identifier: Apache-2.0
// Which devices the code in libhearsay_cuda.so runs on, from CMake's list of architectures: machine
// code (NN-real) on the same major number from its own minor number on, PTX (NN-virtual) on
// everything from there on, NN is both. With a letter behind it (90a) code runs on that one alone.
// Host only; no CUDA.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace hearsay::cuda {

inline std::vector<std::string> architectures_in(std::string_view list) {
  std::vector<std::string> all;
  std::string one;
  for (const char c : std::string(list) + ";") {
    if (c != ';' && c != ',') {
      one += c;
    } else if (!one.empty()) {
      all.push_back(one);
      one.clear();
    }
  }
  return all;
}

// Words such as `native` and `all` count as everything: what they came to is not known here.
inline bool has_code_for(std::string_view list, int major, int minor) {
  for (const std::string& each : architectures_in(list)) {
    char* end = nullptr;
    const int number = static_cast<int>(std::strtol(each.c_str(), &end, 10));
    if (end == each.c_str()) return true;
    const std::string_view kind(end);
    const int of_major = number / 10, of_minor = number % 10;
    if (!kind.empty() && kind.front() != '-') {
      if (major == of_major && minor == of_minor) return true;
      continue;
    }
    const bool is_newer = major > of_major || (major == of_major && minor >= of_minor);
    if (kind != "-virtual" && major == of_major && minor >= of_minor) return true;
    if (kind != "-real" && is_newer) return true;
  }
  return false;
}

// "8.0, 9.0 and up": for people.
inline std::string architectures_text(std::string_view list) {
  std::string text;
  for (const std::string& each : architectures_in(list)) {
    char* end = nullptr;
    const long number = std::strtol(each.c_str(), &end, 10);
    if (!text.empty()) text += ", ";
    text += end == each.c_str() ? each
                                : std::to_string(number / 10) + "." + std::to_string(number % 10);
    if (end != each.c_str() && (*end == '\0' || std::string_view(end) == "-virtual"))
      text += " and up";
  }
  return text;
}

}  // namespace hearsay::cuda
