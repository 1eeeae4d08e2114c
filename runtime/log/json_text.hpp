// SPDX-License-Identifier: Apache-2.0
// Appends JSON values to a string, always the same bytes for the same value: the event log is
// compared byte by byte. Invariant: the appended text is valid JSON and valid UTF-8; a malformed
// byte becomes U+FFFD. Lane: any (pure). Cost: one pass, no allocation beyond the growth of `out`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gossip/event.hpp"

namespace hearsay::runtime {

void append_json_string(std::string& out, std::string_view text);  // with the quotes
void append_json_int(std::string& out, std::int64_t value);
void append_json_uint(std::string& out, std::uint64_t value);
// Shortest text that reads back as the same double; "nan", "inf" and "-inf" as strings, since JSON
// has no such numbers.
void append_json_double(std::string& out, double value);
void append_json_bool(std::string& out, bool value);
void append_json_ints(std::string& out, std::span<const std::int64_t> values);
void append_json_field(std::string& out, const gossip::FieldValue& value);
// Appends `"key":` with a comma before it unless it opens the object.
void append_json_key(std::string& out, std::string_view key);

}  // namespace hearsay::runtime
