// SPDX-License-Identifier: Apache-2.0
// A range as options write it: "0.1..0.5", "20%..60%". It only splits; what an end means is for
// whoever asked. Pure. Cost: O(length).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearsay::runtime {

struct TextRange {
  std::string from;               // all of the text when it is no range
  std::optional<std::string> to;  // none: no range; may be empty, which no number is
};

inline TextRange split_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  TextRange range{std::string(text.substr(0, dots)), std::nullopt};
  if (dots != std::string_view::npos) range.to = text.substr(dots + 2);
  return range;
}

}  // namespace hearsay::runtime
