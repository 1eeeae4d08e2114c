// SPDX-License-Identifier: Apache-2.0
// Keys that events have gained: a run that was logged before has lines without them, and is
// repeated all the same. Pure. Cost: a search in the line for each of them.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace hearsay::runtime {

// The line without lists that it has and the logged one does not.
inline std::string without_newer_keys(std::string line, std::string_view logged) {
  constexpr std::array<std::string_view, 1> kLists{",\"distances\":["};  // of cluster.updated
  for (const std::string_view list : kLists) {
    const std::size_t begin = line.find(list);
    if (begin == std::string::npos || logged.find(list) != std::string_view::npos) continue;
    const std::size_t end = line.find(']', begin);
    if (end != std::string::npos) line.erase(begin, end + 1 - begin);
  }
  return line;
}

}  // namespace hearsay::runtime
