// SPDX-License-Identifier: Apache-2.0
// Reads members of JSON objects that anybody may have written: a value of another type, or a number
// that is none, is absent. Pure; any lane; cost: a search a call.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace hearsay::runtime::report {

using Json = nlohmann::ordered_json;

inline std::optional<double> number_at(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

inline std::string text_at(const Json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Sequence numbers: whole, from 0, and of 64 bits.
inline std::uint64_t whole_at(const Json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  if (!found->is_number_unsigned() && found->get<std::int64_t>() < 0) return 0;
  return found->get<std::uint64_t>();
}

}  // namespace hearsay::runtime::report
