// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {

using kernels::UsageError;

namespace {

constexpr std::size_t kMaxComparedBytes = 64;  // longer words are no typing slips

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' ||
         c == '.';
}

[[noreturn]] void refuse(std::string_view option, std::string_view text, const std::string& why) {
  throw UsageError(std::string(option) + " '" + std::string(text) + "': " + why);
}

// Length of the piece up to the next '+' that starts a modifier; a sign inside an exponent (1e+3)
// does not.
std::size_t piece_length(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '+') {
      continue;
    }
    const bool exponent = i >= 2 && i + 1 < text.size() &&
                          (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                          (is_digit(text[i - 2]) || text[i - 2] == '.') && is_digit(text[i + 1]);
    if (!exponent) {
      return i;
    }
  }
  return text.size();
}

void require_name(std::string_view option, std::string_view whole, std::string_view name,
                  const char* what) {
  if (name.empty()) {
    refuse(option, whole,
           std::string("the ") + what + " is empty (form: name:value,key=value+modifier)");
  }
  for (const char c : name) {
    if (c == '%') {
      refuse(option, whole, "a percent sign is accepted only where a share is meant");
    }
    if (!is_name_char(c)) {
      refuse(option, whole,
             std::string("'") + std::string(name) + "' is not a " + what +
                 " (letters, digits, '-', '_' and '.')");
    }
  }
}

void add_item(std::string_view option, std::string_view whole, std::string_view item, Spec& spec) {
  if (item.empty()) {
    refuse(option, whole, "a value is empty");
  }
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) {
    spec.values.emplace_back(item);
    return;
  }
  const std::string_view key = item.substr(0, equals);
  const std::string_view value = item.substr(equals + 1);
  require_name(option, whole, key, "key");
  if (value.empty()) {
    refuse(option, whole, "'" + std::string(key) + "=' has no value");
  }
  if (spec.arg(key)) {
    refuse(option, whole, "'" + std::string(key) + "' is given twice");
  }
  spec.args.emplace_back(key, value);
}

// One piece between plus signs.
Spec parse_piece(std::string_view option, std::string_view whole, std::string_view piece) {
  Spec spec;
  spec.text = std::string(piece);
  const std::size_t end = std::min(piece.find_first_of(":,="), piece.size());
  spec.name = std::string(piece.substr(0, end));
  require_name(option, whole, spec.name, "name");
  if (end == piece.size()) {
    return spec;
  }
  std::string_view rest = piece.substr(end + 1);
  bool bare = piece[end] == '=';  // name=value: the first item is a value whatever it holds
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    if (bare && !item.empty()) {
      spec.values.emplace_back(item);
    } else {
      add_item(option, whole, item, spec);
    }
    bare = false;
    if (comma == rest.size()) {
      return spec;
    }
    rest.remove_prefix(comma + 1);
  }
}

// Reads the number that `text` begins with; returns what follows it. Refuses anything that is not
// finite.
std::string_view take_number(std::string_view option, std::string_view text, double& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    refuse(option, text, "the number is too large or too small");
  }
  if (error != std::errc() || !std::isfinite(value)) {
    refuse(option, text, "not a number");
  }
  return {rest, static_cast<std::size_t>(end - rest)};
}

// Edit distance with swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> Spec::arg(std::string_view key) const {
  for (const auto& [name_of_arg, value] : args) {
    if (name_of_arg == key) {
      return value;
    }
  }
  return std::nullopt;
}

const Spec* part_of(const Spec& joined, std::string_view name) {
  if (joined.name == name) return &joined;
  for (const Spec& part : joined.modifiers) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

Spec parse_spec(std::string_view option, std::string_view text) {
  if (text.empty()) {
    throw UsageError(std::string(option) + " is empty");
  }
  if (text.size() > kMaxSpecBytes) {
    throw UsageError(std::string(option) + " is longer than " + std::to_string(kMaxSpecBytes) +
                     " bytes");
  }
  std::string_view rest = text;
  std::size_t length = piece_length(rest);
  Spec spec = parse_piece(option, text, rest.substr(0, length));
  while (length < rest.size()) {
    rest.remove_prefix(length + 1);
    length = piece_length(rest);
    spec.modifiers.push_back(parse_piece(option, text, rest.substr(0, length)));
  }
  spec.text = std::string(text);
  return spec;
}

void reject_unknown(std::string_view option, const Spec& spec,
                    const std::vector<std::string>& known_args, std::size_t max_values) {
  for (const auto& [key, value] : spec.args) {
    if (std::find(known_args.begin(), known_args.end(), key) != known_args.end()) {
      continue;
    }
    if (known_args.empty()) {
      refuse(option, spec.text, "'" + spec.name + "' takes no '" + key + "='");
    }
    throw_unknown(std::string(option) + " " + spec.name + " key", key, known_args);
  }
  if (spec.values.size() > max_values) {
    refuse(option, spec.text,
           "'" + spec.name + "' takes " +
               (max_values == 0 ? std::string("no value")
                                : "at most " + std::to_string(max_values) + " value(s)") +
               ", '" + spec.values[max_values] + "' is one too many");
  }
}

double parse_number(std::string_view option, std::string_view text) {
  double value = 0.0;
  const std::string_view rest = take_number(option, text, value);
  if (rest == "%") {
    refuse(option, text, "a percent sign is accepted only where a share is meant");
  }
  if (!rest.empty()) {
    refuse(option, text, "'" + std::string(rest) + "' after the number is not understood");
  }
  return value;
}

std::uint64_t parse_count(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    refuse(option, text, "the number is too large");
  }
  if (error == std::errc() && rest + 1 == end && *rest == '%') {
    refuse(option, text, "a percent sign is accepted only where a share is meant");
  }
  if (error != std::errc() || rest != end) {
    refuse(option, text, "not a whole number of 0 or more");
  }
  return value;
}

double parse_share(std::string_view option, std::string_view text) {
  double value = 0.0;
  const std::string_view rest = take_number(option, text, value);
  if (!rest.empty() && rest != "%") {
    refuse(option, text, "not a share (write 1% or 0.01)");
  }
  const double share = rest == "%" ? value / 100.0 : value;
  if (!(share >= 0.0 && share <= 1.0)) {
    const bool forgot = rest.empty() && value > 1.0 && value <= 100.0;
    refuse(option, text,
           "a share lies between 0 and 1" +
               (forgot ? " (did you mean " + std::string(text) + "%?)" : std::string()));
  }
  return share;
}

double parse_seconds(std::string_view option, std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 7> kUnits{{{"", 1.0},
                                        {"s", 1.0},
                                        {"ms", 1e-3},
                                        {"us", 1e-6},
                                        {"ns", 1e-9},
                                        {"min", 60.0},
                                        {"h", 3600.0}}};
  double value = 0.0;
  const std::string_view rest = take_number(option, text, value);
  if (rest == "%") {
    refuse(option, text, "a percent sign is accepted only where a share is meant");
  }
  if (value < 0.0) {
    refuse(option, text, "a time is 0 or more");
  }
  for (const Unit& unit : kUnits) {
    if (unit.name == rest) {
      // Division keeps short decimals exact: 200ms is the double nearest to 0.2.
      return unit.seconds < 1.0 ? value / std::round(1.0 / unit.seconds) : value * unit.seconds;
    }
  }
  refuse(option, text, "unknown unit '" + std::string(rest) + "' (known: ns, us, ms, s, min, h)");
}

bool parse_boolean(std::string_view option, std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") {
    return true;
  }
  if (text == "false" || text == "0" || text == "no" || text == "off") {
    return false;
  }
  throw UsageError(std::string(option) + " '" + std::string(text) + "': write true or false");
}

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kMaxComparedBytes) {
    return std::nullopt;
  }
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best && word.size() >= 2) {
    const auto begins = [word](const std::string& candidate) {
      return candidate.starts_with(word);
    };
    const auto found = std::find_if(candidates.begin(), candidates.end(), begins);
    if (found != candidates.end()) {
      best = *found;
    }
  }
  return best;
}

void throw_unknown(std::string_view kind, std::string_view word,
                   const std::vector<std::string>& known) {
  std::string line = "unknown " + std::string(kind) + " '" + std::string(word) + "' (";
  if (const auto near = nearest_name(word, known)) {
    line += "did you mean '" + *near + "'? ";
  }
  line += "known: ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    line += (i == 0 ? "" : ", ") + known[i];
  }
  throw UsageError(line + ")");
}

}  // namespace hearsay::runtime
