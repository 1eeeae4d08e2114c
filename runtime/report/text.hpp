// SPDX-License-Identifier: Apache-2.0
// Text of a page: escaping, and numbers as people read them. Invariant: what escape() returns
// cannot open or close an element, an attribute or a script, whatever went in. Pure; any lane;
// cost: one small string.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime::report {

// For text and attribute values of HTML and SVG. Control characters and malformed UTF-8 become
// U+FFFD.
std::string escape(std::string_view text);
// JSON that may stand inside a <script> element.
std::string script_safe(std::string json);

std::string fixed(double value, int digits);  // "0.50"; a dash when not finite
std::string shortest(double value);           // 3 significant digits, no exponent below 1e6
std::string coordinate(double value);         // of a drawing: one digit after the point at most
std::string count_text(double count);         // "1,234"
std::string percent(double share);            // "88.21 %", not to be broken
std::string seconds_text(double seconds);     // "812 ms", "4.13 s", "12 min 5 s", "1 h 2 min"
std::string bytes_text(double bytes);         // "91.5 MiB"
std::string plural(std::size_t count, std::string_view singular);  // "1 merge", "2 merges"
// "p01", "p01 and p02", "p01, p02 and 4 more"
std::string list_text(const std::vector<std::string>& names, std::size_t most = 4);

inline std::string or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "–";
}

}  // namespace hearsay::runtime::report
