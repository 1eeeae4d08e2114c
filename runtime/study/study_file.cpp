// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/study_file.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "kernels/core/errc.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;
using kernels::UsageError;

constexpr std::size_t kMostNameBytes = 120;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string file_name(const StudyPoint& point) {
  std::string name;
  for (const auto& [key, text] : point.varied) {
    name += (name.empty() ? "" : ",") + key + "=";
    for (const char c : text)
      name +=
          std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '+' ? c : '_';
  }
  name.resize(std::min(name.size(), kMostNameBytes));
  return name.empty() ? "base" : name;
}

const Json& object_in(const Json& document, const char* key, const std::string& path) {
  static const Json none = Json::object();
  const auto found = document.find(key);
  if (found == document.end()) return none;
  if (!found->is_object())
    throw UsageError(path + ": '" + key + "' is a JSON object, option by option");
  return *found;
}

void refuse_option(const std::string& key, const char* where, const std::string& path) {
  if (find_option(key) == nullptr) {
    const auto near = nearest_name(key, option_names());
    throw UsageError(path + ": '" + key + "' in " + where + " is no option" +
                     (near ? " (did you mean '" + *near + "'?)" : ""));
  }
  for (const char* own : {"run", "threads", "json", "quiet", "dry-run", "resume", "config"}) {
    if (key == own)
      throw UsageError(path + ": '" + key + "' in " + where +
                       " is a matter of the call; give it as a flag, or leave it out");
  }
}

}  // namespace

Study parse_study(const std::string& text, const std::string& path) {
  const Json document = parse_config_json(text, path);
  if (!document.is_object() || !document.contains("vary"))
    throw UsageError(path + R"(: a study is {"base": {...}, "vary": {"seed": [0, 1, 2]}})");
  for (const auto& [key, value] : document.items()) {
    if (key != "base" && key != "vary")
      throw UsageError(path + ": unknown key '" + key + "'; a study has base and vary");
  }
  const Json &base = object_in(document, "base", path), &vary = object_in(document, "vary", path);
  for (const auto& [key, value] : base.items()) refuse_option(key, "base", path);
  Study study;
  study.points.push_back({{}, base, {}});
  for (const auto& [key, values] : vary.items()) {
    refuse_option(key, "vary", path);
    if (!values.is_array() || values.empty())
      throw UsageError(path + ": '" + key + "' in vary is a list of at least one value");
    if (study.points.size() * values.size() > kMostStudyPoints)
      throw UsageError(path + ": more than " + std::to_string(kMostStudyPoints) + " runs");
    study.keys.push_back(key);
    std::vector<StudyPoint> points;
    for (const StudyPoint& point : study.points) {
      for (const Json& value : values) {
        points.push_back(point);
        points.back().config[key] = value;
        points.back().varied.emplace_back(key, text_of(value));
      }
    }
    study.points = std::move(points);
  }
  std::set<std::string> taken;
  for (StudyPoint& point : study.points) {
    const std::string name = file_name(point);
    point.name = name;
    for (int i = 2; !taken.insert(point.name).second; ++i)
      point.name = name + "~" + std::to_string(i);
  }
  return study;
}

Study read_study(const std::string& path) {
  return parse_study(read_config_text(path, "--study"), path);
}

}  // namespace hearsay::runtime
