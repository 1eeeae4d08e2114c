// SPDX-License-Identifier: Apache-2.0
// From flags, environment, files and presets to one text an option; and what --resume makes of it.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "kernels/core/errc.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/presets.hpp"
#include "runtime/config/scenario.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

using kernels::UsageError;

namespace {

Settings defaults() {
  Settings settings;
  for (const Option& option : option_table()) {
    settings.set(option.name, {std::string(option.default_text)}, "default");
  }
  return settings;
}

void overlay(Settings& settings, const OptionTexts& texts, const std::string& origin) {
  for (const auto& [name, values] : texts) {
    settings.set(name, values, origin);
  }
}

OptionTexts flag_texts(const Arguments& arguments) {
  OptionTexts texts;
  for (const auto& [name, text] : arguments.flags) {
    if (find_option(name) != nullptr) {
      texts[name].push_back(text);
    }
  }
  return texts;
}

std::vector<std::string> split_faults(const std::string& text) {
  std::vector<std::string> faults;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::size_t first = text.find_first_not_of(' ', begin);
    const std::size_t last = end == 0 ? end : text.find_last_not_of(' ', end - 1);
    if (first < end && last != std::string::npos) {
      faults.push_back(text.substr(first, last - first + 1));
    }
    begin = end + 1;
  }
  return faults.empty() ? std::vector<std::string>{"off"} : faults;
}

// An empty variable counts as not set.
OptionTexts environment_texts(const Environment& environment) {
  OptionTexts texts;
  for (const Option& option : option_table()) {
    const auto found = environment.find(environment_name(option));
    if (found == environment.end() || found->second.empty() ||
        (option.name == "data" && is_data_folder(found->second))) {
      continue;
    }
    texts[std::string(option.name)] =
        option.repeatable ? split_faults(found->second) : std::vector<std::string>{found->second};
  }
  return texts;
}

// Below flags and variables, above files and presets, whose peers and seed it needs.
void lay_scenario(Settings& settings) {
  const std::string name = settings.text("scenario");
  if (name == "off") return;
  const OptionTexts texts = name == "random"
                                ? random_scenario(parse_count("--seed", settings.text("seed")),
                                                  parse_count("--peers", settings.text("peers")))
                                : read_scenario(name);
  for (const auto& [option, values] : texts) {
    const std::string& origin = settings.origin(option);
    if (origin == "flag" || origin.starts_with("environment")) continue;
    settings.set(option, values, "scenario " + name);
  }
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

bool is_data_folder(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && slash < text.find(':')) {
    return true;
  }
  std::error_code ignored;
  return std::filesystem::is_directory(std::filesystem::path(text), ignored);
}

namespace {

// A flag's or else a variable's text; they also say which file and preset the layers below are.
std::string chosen(const OptionTexts& flags, const OptionTexts& variables,
                   const std::string& name) {
  if (const auto flag = flags.find(name); flag != flags.end()) return flag->second.front();
  const auto variable = variables.find(name);
  return variable != variables.end() ? variable->second.front() : std::string();
}

}  // namespace

Settings merge_settings(const Arguments& arguments, const Environment& environment) {
  const std::string path = chosen(flag_texts(arguments), environment_texts(environment), "config");
  return merge_settings(arguments, environment,
                        path.empty() ? OptionTexts{} : read_config_file(path), "file " + path);
}

Settings merge_settings(const Arguments& arguments, const Environment& environment,
                        const OptionTexts& file, const std::string& origin) {
  Settings settings = defaults();
  const OptionTexts flags = flag_texts(arguments);
  const OptionTexts variables = environment_texts(environment);
  std::string preset_name = chosen(flags, variables, "preset");
  if (preset_name.empty()) {
    const auto from_file = file.find("preset");
    preset_name = from_file != file.end() ? from_file->second.front() : settings.text("preset");
  }
  const Preset& preset = find_preset(preset_name);
  for (const auto& [name, text] : preset.values) {
    settings.set(name, {std::string(text)}, "preset " + std::string(preset.name));
  }
  overlay(settings, file, origin);
  for (const auto& [name, values] : variables) {
    settings.set(name, values, "environment " + environment_name(*find_option(name)));
  }
  overlay(settings, flags, "flag");
  lay_scenario(settings);
  return settings;
}

Settings resume_settings(const Arguments& arguments, const Environment& environment,
                         const std::string& run_dir, const std::string& run_json,
                         const std::vector<std::string_view>& may_change) {
  Settings settings = defaults();
  overlay(settings, read_config_file(run_json), "file " + run_json);
  const auto lay_on = [&](const OptionTexts& texts,
                          const std::function<std::string(const std::string&)>& origin) {
    for (const auto& [name, values] : texts) {
      const Setting given{values, origin(name)};
      const Option& option = *find_option(name);
      const bool free = std::find(may_change.begin(), may_change.end(), name) != may_change.end();
      if (name == "config") {
        throw UsageError("--config " + given.text() + ": not with --resume, which takes " +
                         run_json + "; leave it out");
      }
      if (free || !option.recorded) {
        settings.set(name, values, given.origin);
      } else if (given.text() != settings.text(name)) {
        throw UsageError("--" + name + " " + given.text() + ": the run in " + run_dir + " has '" +
                         settings.text(name) + "', and --resume keeps it" +
                         (given.origin == "flag" ? "" : " (from " + given.origin + ")") +
                         "; leave it out, or begin another run with --config " + run_json);
      }
    }
  };
  lay_on(environment_texts(environment), [](const std::string& name) {
    return "environment " + environment_name(*find_option(name));
  });
  lay_on(flag_texts(arguments), [](const std::string&) { return std::string("flag"); });
  return settings;
}

}  // namespace hearsay::runtime
