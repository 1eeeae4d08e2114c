// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a JSON object that another program wrote: ok() turns false at the first that
// is missing or of another kind, and whoever asks goes on without a branch for each. Borrows the
// object. Cost: a search over the keys a field.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {

class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonFields(const Json& object) : object_(object) { ok_ = object.is_object(); }
  bool ok() const { return ok_; }

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string()) return fail(std::string());
    return value->get<std::string>();
  }
  double number(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number()) return fail(0.0);
    const double number = value->get<double>();
    return std::isfinite(number) ? number : fail(0.0);
  }
  std::uint64_t count(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number_unsigned()) return fail(std::uint64_t{0});
    return value->get<std::uint64_t>();
  }
  bool flag(const char* key) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_boolean()) return fail(false);
    return value->get<bool>();
  }
  std::vector<std::string> texts(const char* key) {
    const Json* value = find(key);
    std::vector<std::string> texts;
    if (value == nullptr || !value->is_array()) return fail(texts);
    for (const Json& each : *value) {
      if (!each.is_string()) return fail(std::vector<std::string>());
      texts.push_back(each.get<std::string>());
    }
    return texts;
  }
  // An array or an object, for the caller to look into; null when it is not there.
  const Json& child(const char* key) {
    static const Json kNone;
    const Json* value = find(key);
    if (value == nullptr || !value->is_structured()) return fail<const Json&>(kNone);
    return *value;
  }

 private:
  const Json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  template <typename T>
  T fail(T nothing) {
    ok_ = false;
    return nothing;
  }

  const Json& object_;
  bool ok_ = true;
};

}  // namespace hearsay::runtime
