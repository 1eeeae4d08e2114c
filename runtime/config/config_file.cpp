// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/config_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "kernels/core/errc.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/log/json_nesting.hpp"

namespace hearsay::runtime {

using kernels::UsageError;
using Json = nlohmann::ordered_json;

namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw UsageError(where + ": " + why);
}

// "pool.json:3:7: not valid JSON: ..." (the library counts bytes read, so the culprit is the last
// of them).
[[noreturn]] void refuse_syntax(const std::string& path, const std::string& text,
                                const Json::parse_error& error) {
  const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
  const auto begin = text.begin();
  const auto line = 1 + std::count(begin, begin + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
  std::string why = error.what();
  const std::size_t column_word = why.find("column ");
  const std::size_t colon =
      column_word == std::string::npos ? column_word : why.find(": ", column_word);
  if (colon != std::string::npos) {
    why.erase(0, colon + 2);
  }
  refuse(path + ":" + std::to_string(line) + ":" + std::to_string(column),
         "not valid JSON: " + why);
}

}  // namespace

Json parse_config_json(const std::string& text, const std::string& path) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check_key = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > static_cast<int>(kMostJsonNesting)) refuse(path, "objects are nested too deeply");
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key &&
               !keys.back().insert(parsed.get<std::string>()).second) {
      refuse(path, "key '" + parsed.get<std::string>() + "' is given twice");
    }
    return true;
  };
  try {
    return Json::parse(text, check_key, true, true);
  } catch (const Json::parse_error& error) {
    refuse_syntax(path, text, error);
  } catch (const Json::exception& error) {
    refuse(path, error.what());
  }
}

namespace {

// 32.0 is written as 32, so that counts may come from programs that know only floats.
std::string number_text(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::floor(number) == number && std::fabs(number) < 1e15) {
      return std::to_string(static_cast<long long>(number));
    }
  }
  return value.dump();
}

std::string scalar_text(const Json& value, const std::string& where) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number()) {
    return number_text(value);
  }
  refuse(where, std::string("a text or a number is needed here, not ") + value.type_name());
}

std::string spec_text(const Json& value, const std::string& where, int depth);

// {"name": "ema", "a": 0.5, "values": [...], "staleness": {"half-life": 20}, "norm-clip": true} as
// typed text.
std::string object_text(const Json& object, const std::string& where, std::string name, int depth) {
  if (depth > 2) {
    refuse(where, "objects are nested too deeply for a spec");
  }
  std::vector<std::string> items;
  std::string modifiers;
  for (const auto& [key, value] : object.items()) {
    const std::string here = where + ": '" + key + "'";
    if (key == "name") {
      continue;
    }
    if (key == "values") {
      for (const Json& each : value.is_array() ? value : Json::array({value})) {
        items.push_back(scalar_text(each, here));
      }
    } else if (value.is_boolean()) {
      modifiers += value.get<bool>() ? "+" + key : "";
    } else if (value.is_object()) {
      modifiers += "+" + object_text(value, here, key, depth + 1);
    } else if (key == "modifiers" && value.is_array()) {
      for (const Json& each : value) {
        modifiers += "+" + spec_text(each, here, depth + 1);
      }
    } else {
      items.push_back(key + "=" + scalar_text(value, here));
    }
  }
  const bool number_first = !name.empty() && name.front() >= '0' && name.front() <= '9';
  for (std::size_t i = 0; i < items.size(); ++i) {
    name += (i > 0 || number_first ? "," : ":") + items[i];
  }
  return name + modifiers;
}

std::string spec_text(const Json& value, const std::string& where, int depth) {
  if (!value.is_object()) {
    return scalar_text(value, where);
  }
  if (value.contains("name")) {
    return object_text(value, where, scalar_text(value["name"], where + ": 'name'"), depth);
  }
  if (value.size() == 1) {  // {"rounds": 3} is rounds=3
    return value.begin().key() + "=" + scalar_text(value.begin().value(), where);
  }
  refuse(where, "a spec written as an object needs a \"name\"");
}

bool is_origin_pair(const Json& value) {
  return value.is_object() && value.contains("value") &&
         (value.size() == 1 || (value.size() == 2 && value.contains("origin")));
}

std::vector<std::string> option_texts(const Option& option, const Json& given,
                                      const std::string& where) {
  const Json& value = is_origin_pair(given) ? given["value"] : given;
  if (value.is_null()) {
    refuse(where, "null says nothing; leave the key out");
  }
  if (option.kind == ValueKind::boolean && value.is_boolean()) {
    return {value.get<bool>() ? "true" : "false"};
  }
  if (option.repeatable && value.is_array()) {
    std::vector<std::string> texts;
    for (const Json& each : value) {
      texts.push_back(spec_text(each, where, 0));
    }
    return texts.empty() ? std::vector<std::string>{"off"} : texts;
  }
  const bool object_allowed = option.kind == ValueKind::spec || option.kind == ValueKind::metric ||
                              option.kind == ValueKind::fault;
  return {object_allowed ? spec_text(value, where, 0) : scalar_text(value, where)};
}

}  // namespace

OptionTexts parse_config_text(const std::string& text, const std::string& path) {
  const Json document = parse_config_json(text, path);
  if (!document.is_object()) {
    refuse(path, "a config file is one JSON object");
  }
  const bool is_run = document.contains("config") && document["config"].is_object();
  const Json& entries = is_run ? document["config"] : document;
  OptionTexts texts;
  for (const auto& [key, value] : entries.items()) {
    const Option* const option = find_option(key);
    if (option == nullptr) {
      std::vector<std::string> known = option_names();
      const auto near = nearest_name(key, known);
      refuse(path, "unknown key '" + key + "'" +
                       (near ? " (did you mean '" + *near + "'?)"
                             : "; hearsay sim --help-all lists them"));
    }
    if (option->name == "config") {
      refuse(path, "a config file cannot name another");
    }
    texts[key] = option_texts(*option, value, path + ": '" + key + "'");
  }
  return texts;
}

OptionTexts read_config_file(const std::string& path) { return read_config_file(path, "--config"); }

OptionTexts read_config_file(const std::string& path, const std::string& option) {
  return parse_config_text(read_config_text(path, option), path);
}

std::string read_config_text(const std::string& path, const std::string& option) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse(path, "cannot be opened (" + option + ")");
  }
  std::string text(kMaxConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    refuse(path, "cannot be read (" + option + ")");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxConfigBytes) {
    refuse(path, "longer than a config file may be (1 MiB)");
  }
  return text;
}

}  // namespace hearsay::runtime
