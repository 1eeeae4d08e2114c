// SPDX-License-Identifier: Apache-2.0
// Whether JSON text nests deeper than anything that this program writes. Parsing and freeing take
// any depth, but copying, comparing and writing a value recurse: a megabyte of brackets would use up
// the stack. Asked of text from others before it is parsed. Pure; cost: one pass.
#pragma once

#include <cstddef>
#include <string_view>

namespace hearsay::runtime {

inline constexpr std::size_t kMostJsonNesting = 100;

inline bool nests_too_deeply(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonNesting) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else {
      in_string = c == '"';
    }
  }
  return false;
}

}  // namespace hearsay::runtime
