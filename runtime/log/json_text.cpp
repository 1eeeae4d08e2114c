// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/json_text.hpp"

#include <charconv>
#include <cmath>
#include <variant>
#include <vector>

namespace hearsay::runtime {
namespace {

// Length of the well-formed UTF-8 sequence that starts at `text[0]`, or 0 (Unicode 15, table 3-7:
// no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// Length of the run at the start that needs neither an escape nor a look at its encoding: nearly
// all text.
std::size_t plain_run(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && text[length] >= 0x20 && text[length] < 0x7F &&
         text[length] != '"' && text[length] != '\\') {
    ++length;
  }
  return length;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20) {
    out += c;
    return;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u00";
  out += kHex[code >> 4];
  out += kHex[code & 15];
}

template <typename T>
void append_number(std::string& out, T value) {
  char text[32];  // the longest double takes 24 characters, the longest integer 20
  const auto end = std::to_chars(text, text + sizeof text, value);
  out.append(text, end.ptr);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = plain_run(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_sequence(text);
    if (length == 1) {
      append_escaped(out, text.front());
    } else if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_json_int(std::string& out, std::int64_t value) { append_number(out, value); }

void append_json_uint(std::string& out, std::uint64_t value) { append_number(out, value); }

void append_json_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else if (value == 0 && std::signbit(value)) {
    out += "-0.0";  // "-0" would be read as the integer zero, without its sign
  } else {
    append_number(out, value);
  }
}

void append_json_bool(std::string& out, bool value) { out += value ? "true" : "false"; }

void append_json_ints(std::string& out, std::span<const std::int64_t> values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    append_json_int(out, values[i]);
  }
  out += ']';
}

void append_json_field(std::string& out, const gossip::FieldValue& value) {
  struct Append {
    std::string& out;
    void operator()(std::int64_t v) const { append_json_int(out, v); }
    void operator()(std::uint64_t v) const { append_json_uint(out, v); }
    void operator()(double v) const { append_json_double(out, v); }
    void operator()(bool v) const { append_json_bool(out, v); }
    void operator()(const std::string& v) const { append_json_string(out, v); }
    void operator()(const std::vector<std::int64_t>& v) const { append_json_ints(out, v); }
  };
  std::visit(Append{out}, value);
}

void append_json_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{') out += ',';
  append_json_string(out, key);
  out += ':';
}

}  // namespace hearsay::runtime
