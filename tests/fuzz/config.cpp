// SPDX-License-Identifier: Apache-2.0
// Config files, and run.json of an earlier run: from text to the typed configuration, with the
// grammar of every option on the way; and as studies. What a run records must give the same
// settings again.
#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/study/study_file.hpp"
#include "tests/fuzz/support.hpp"

using namespace hearsay;
using namespace hearsay::runtime;
using fuzz::require;
using kernels::UsageError;

namespace {

void check_values(const OptionTexts& texts) {
  for (const auto& entry : texts) {  // clang 14 captures no structured binding
    const auto& name = entry.first;
    const auto& values = entry.second;
    require(find_option(name) != nullptr, "every key is an option");
    require(!values.empty(), "every option has a value");
    for (const std::string& value : values) {
      fuzz::decodes<UsageError>([&] {
        const Spec spec = parse_spec("--" + name, value);
        require(spec.text == value && !spec.name.empty(), "a spec keeps its text and has a name");
        reject_unknown("--" + name, spec, {"lr", "n"}, 1);
      });
    }
  }
}

// What run.json would say of these settings says the same when it is read.
void check_record(const Settings& settings) {
  const auto record = config_json(settings);
  const OptionTexts again = parse_config_text(record.dump(), "record");
  for (const Option& option : option_table()) {
    if (!option.recorded) continue;
    const auto found = again.find(std::string(option.name));
    require(found != again.end(), "an option that is recorded is read");
    require(found->second == settings.at(option.name).values, "and says the same");
  }
}

void check_study(const std::string& text) {
  fuzz::decodes<UsageError>([&] {
    const Study study = parse_study(text, "input");
    require(!study.points.empty() && study.points.size() <= kMostStudyPoints, "points are bounded");
    for (const StudyPoint& point : study.points) {
      require(point.varied.size() == study.keys.size(), "each has a value for what varies");
      require(point.name.find('/') == std::string::npos && point.name.size() < 200,
              "its name is one of a file");
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_study(text);
  const bool is_config =
      fuzz::decodes<UsageError>([&] { check_values(parse_config_text(text, "input")); });
  if (!is_config) return 0;
  const std::string path = file.holding(text);
  const auto typed = [&](const auto& settings_of) {
    fuzz::decodes<UsageError>([&] {
      const Settings settings = settings_of();
      check_record(settings);
      typed_config(settings);
    });
  };
  Arguments arguments;
  typed([&] { return resume_settings(arguments, {}, "run", path, {"peers"}); });
  arguments.flags.emplace_back("config", path);
  typed([&] { return merge_settings(arguments, {}); });
  return 0;
}
