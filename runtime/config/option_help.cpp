// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/option_help.hpp"

#include <algorithm>

namespace hearsay::runtime {

namespace {

constexpr std::size_t kFlagColumns = 22;  // "  --optimizer SPEC" and two blanks

std::string flag_text(const Option& option) {
  std::string text = "--" + std::string(option.name);
  if (!option.placeholder.empty()) {
    text += " " + std::string(option.placeholder);
  }
  return text;
}

// What the help shows as the default; booleans are off and unset options say nothing.
std::string default_note(const Option& option) {
  if (option.kind == ValueKind::boolean || option.default_text.empty() ||
      option.default_text == "off") {
    return {};
  }
  return " [" + std::string(option.default_text) + "]";
}

std::string padded(std::string text, std::size_t columns) {
  text.resize(std::max(text.size() + 1, columns), ' ');
  return text;
}

// Breaks at blanks so that no line is wider than the screen; every line starts with `indent`
// blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::string line(indent, ' ');
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (line.size() > indent && line.size() + 1 + end > kHelpColumns) {
      out += line + "\n";
      line.assign(indent, ' ');
    }
    line += (line.size() > indent ? " " : "") + std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + "\n";
}

std::string usage_line(const CommandSyntax& syntax) {
  return "hearsay " + syntax.name + (syntax.words.empty() ? "" : " " + syntax.words) +
         " [options]: " + syntax.summary + "\n";
}

std::string option_line(const Option& option) {
  return padded("  " + flag_text(option), kFlagColumns) + std::string(option.help) +
         default_note(option) + "\n";
}

}  // namespace

std::string short_help(const CommandSyntax& syntax) {
  std::string text = usage_line(syntax);
  const std::vector<Option> options = accepted_options(syntax);
  bool more = false;
  for (const Option& option : options) {
    if (option.in_short_help) {
      text += option_line(option);
    }
    more = more || !option.in_short_help || !option.detail.empty();
  }
  text += padded("  -h, --help", kFlagColumns) + "this text" +
          (more ? "; --help-all says more about each option\n" : "\n");
  for (const std::string& example : syntax.examples) {
    text += "example: " + example + "\n";
  }
  return text;
}

std::string full_help(const CommandSyntax& syntax) {
  std::string text =
      usage_line(syntax) +
      "A flag, a config key and an environment variable are the same thing. Order:\n"
      "flag, environment, --config file, preset, default (hearsay config show tells).\n";
  const std::vector<Option> options = accepted_options(syntax);
  std::vector<std::string_view> groups;
  for (const Option& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  for (const std::string_view group : groups) {
    text += "\n" + std::string(group) + "\n";
    for (const Option& option : options) {
      if (option.group != group) {
        continue;
      }
      text += option_line(option);
      if (!option.detail.empty()) {
        text += wrapped(option.detail, kFlagColumns);
      }
      if (find_option(option.name) != nullptr) {
        text += std::string(kFlagColumns, ' ') + environment_name(option) + "\n";
      }
    }
  }
  for (const std::string& example : syntax.examples) {
    text += "\nexample: " + example;
  }
  return syntax.examples.empty() ? text : text + "\n";
}

std::string options_markdown() {
  std::string text = "| flag | environment | default | meaning |\n|---|---|---|---|\n";
  const auto cell = [](std::string_view words) {
    std::string out;
    for (const char c : words) {
      out += c == '|' ? "\\|" : std::string(1, c);
    }
    return out;
  };
  for (const Option& option : option_table()) {
    const std::string shown =
        option.default_text.empty() ? "" : "`" + std::string(option.default_text) + "`";
    text += "| `" + flag_text(option) + "` | `" + environment_name(option) + "` | " + shown +
            " | " + cell(option.help) + (option.detail.empty() ? "" : ". " + cell(option.detail)) +
            " |\n";
  }
  return text;
}

nlohmann::ordered_json config_schema() {
  using nlohmann::ordered_json;
  ordered_json properties = ordered_json::object();
  for (const Option& option : option_table()) {
    if (option.name == "config") {
      continue;  // a file cannot name another
    }
    ordered_json types = ordered_json::array({"string"});
    if (option.kind == ValueKind::boolean) {
      types = ordered_json::array({"boolean", "string"});
    } else if (option.kind == ValueKind::count || option.kind == ValueKind::seconds) {
      types = ordered_json::array({"number", "string"});
    } else if (option.kind == ValueKind::spec || option.kind == ValueKind::metric) {
      types = ordered_json::array({"string", "number", "object"});
    }
    if (option.repeatable) {
      types.push_back("array");
    }
    types.push_back("object");  // {"value": ..., "origin": ...} as in run.json
    types.erase(std::unique(types.begin(), types.end()), types.end());
    std::string description(option.help);
    if (!option.detail.empty()) {
      description += ". " + std::string(option.detail);
    }
    properties[std::string(option.name)] = {{"type", types},
                                            {"description", description},
                                            {"default", std::string(option.default_text)}};
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "hearsay config file"},
          {"type", "object"},
          {"additionalProperties", false},
          {"properties", properties}};
}

}  // namespace hearsay::runtime
