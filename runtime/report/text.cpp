// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace hearsay::runtime::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the well-formed UTF-8 character that begins at `i`, 0 when there is none.
std::size_t character_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u;
  };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(i + 1);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return is_overlong || is_outside ? 0 : length;
}

std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const char c = text[i];
    if (length == 0 || (length == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n') ||
        c == 0x7F) {
      out += kReplacement;
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(1, length);
  }
  return out;
}

std::string script_safe(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    // '<' stands only inside strings of JSON, where \u003c is the same character.
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  std::array<char, 64> buffer;
  const double bounded = std::clamp(value, -1e30, 1e30);
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, bounded);
  return {buffer.data(), static_cast<std::size_t>(size)};
}

std::string shortest(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0.0) return "0";
  const double size = std::abs(value);
  if (size >= 1e6 || size < 1e-4) {
    std::array<char, 32> buffer;
    const int length = std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
    return {buffer.data(), static_cast<std::size_t>(length)};
  }
  const int digits = std::max(0, 2 - static_cast<int>(std::floor(std::log10(size))));
  return without_zeros(fixed(value, digits));
}

std::string coordinate(double value) { return without_zeros(fixed(value, 1)); }

std::string count_text(double count) {
  const std::string digits = fixed(std::abs(std::round(count)), 0);
  std::string text;
  if (count <= -0.5) text += '-';
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string percent(double share) { return fixed(share * 100.0, 2) + "\u00a0%"; }

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "–";
  if (seconds < 0.0) return "-" + seconds_text(-seconds);
  if (seconds == 0.0) return "0 s";
  if (seconds < 1e-3) return shortest(seconds * 1e6) + " µs";
  if (seconds < 1.0) return shortest(seconds * 1e3) + " ms";
  if (seconds < 120.0) return shortest(seconds) + " s";
  const auto whole = static_cast<std::uint64_t>(std::min(seconds, 1e15));
  if (whole < 7200) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string bytes_text(double bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return (unit == 0 ? fixed(bytes, 0) : fixed(bytes, bytes < 100.0 ? 1 : 0)) + " " + kUnits[unit];
}

std::string plural(std::size_t count, std::string_view singular) {
  return count_text(static_cast<double>(count)) + " " + std::string(singular) +
         (count == 1 ? "" : "s");
}

std::string list_text(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  const std::size_t shown = names.size() > most ? most - 1 : names.size();
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

}  // namespace hearsay::runtime::report
