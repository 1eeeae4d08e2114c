// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/command_line.hpp"

#include <algorithm>

#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/config/option_help.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

using kernels::UsageError;
namespace po = boost::program_options;

namespace {

po::options_description describe(const std::vector<Option>& options) {
  po::options_description description;
  for (const Option& option : options) {
    auto* const value = po::value<std::string>();
    if (option.kind == ValueKind::boolean) {
      value->implicit_value("true");
    }
    description.add_options()(std::string(option.name).c_str(), value, "");
  }
  description.add_options()("help,h", "")("help-all", "");
  return description;
}

[[noreturn]] void refuse_option(const CommandSyntax& syntax, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  if (find_option(name) != nullptr && flag.starts_with("--")) {
    throw UsageError("hearsay " + syntax.name + " has no option " + flag + "; hearsay " +
                     syntax.name + " --help lists what it has");
  }
  std::vector<std::string> known{"help", "help-all"};
  for (const Option& option : accepted_options(syntax)) {
    known.emplace_back(option.name);
  }
  const auto near = nearest_name(name, known);
  throw UsageError("unknown option " + flag +
                   (near ? " (did you mean --" + *near + "?)"
                         : "; hearsay " + syntax.name + " --help lists them"));
}

void take_option(const CommandSyntax& syntax, const std::vector<Option>& options,
                 const po::option& parsed, Arguments& arguments) {
  const std::string& first = parsed.original_tokens.front();
  if (parsed.unregistered || first.starts_with("--=")) {
    refuse_option(syntax, first);
  }
  if (parsed.position_key >= 0) {
    arguments.words.insert(arguments.words.end(), parsed.value.begin(), parsed.value.end());
    return;
  }
  if (parsed.string_key == "help" || parsed.string_key == "help-all") {
    (parsed.string_key == "help" ? arguments.help : arguments.help_all) = true;
    return;
  }
  const auto option = std::find_if(options.begin(), options.end(), [&](const Option& each) {
    return each.name == parsed.string_key;
  });
  const bool detached = parsed.original_tokens.size() > 1;  // "--seed 1", not "--seed=1"
  std::string text = parsed.value.empty() ? "true" : parsed.value.front();
  if (option->kind == ValueKind::boolean && detached) {
    arguments.words.push_back(text);  // a boolean takes a value only after '='
    text = "true";
  }
  if (option->kind != ValueKind::boolean && detached && text.starts_with("--")) {
    throw UsageError(first + " needs a value (" + std::string(option->placeholder) + "), but " +
                     text + " follows");
  }
  if (!option->repeatable && arguments.has(parsed.string_key)) {
    throw UsageError(first.substr(0, first.find('=')) + " is given twice");
  }
  arguments.flags.emplace_back(parsed.string_key, std::move(text));
}

}  // namespace

bool Arguments::has(std::string_view name) const { return value(name).has_value(); }

bool Arguments::is_on(std::string_view name) const {
  const auto text = value(name);
  return text && parse_boolean("--" + std::string(name), *text);
}

std::optional<std::string> Arguments::value(std::string_view name) const {
  for (const auto& [flag, text] : flags) {
    if (flag == name) {
      return text;
    }
  }
  return std::nullopt;
}

Arguments parse_arguments(const CommandSyntax& syntax, const std::vector<std::string>& args) {
  namespace style = po::command_line_style;
  const std::vector<Option> options = accepted_options(syntax);
  const po::options_description description = describe(options);
  Arguments arguments;
  try {
    // No allow_guessing: abbreviations would change their meaning whenever an option is added.
    const auto parsed =
        po::command_line_parser(args)
            .options(description)
            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next |
                   style::allow_short | style::allow_dash_for_short | style::short_allow_next)
            .allow_unregistered()
            .run();
    for (const po::option& option : parsed.options) {
      take_option(syntax, options, option, arguments);
    }
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string name = error.get_option_name();
    const bool missing = error.kind() == po::invalid_syntax::missing_parameter ||
                         error.kind() == po::invalid_syntax::empty_adjacent_parameter;
    throw UsageError(missing ? name + " needs a value" : std::string(error.what()));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (arguments.words.size() > syntax.max_words && !arguments.help && !arguments.help_all) {
    throw UsageError("hearsay " + syntax.name + ": unexpected word '" +
                     arguments.words[syntax.max_words] + "'" +
                     (syntax.max_words == 0 ? " (options begin with --)" : ""));
  }
  return arguments;
}

std::optional<std::string> help_text(const CommandSyntax& syntax, const Arguments& arguments) {
  if (arguments.help_all) {
    return full_help(syntax);
  }
  return arguments.help ? std::optional(short_help(syntax)) : std::nullopt;
}

}  // namespace hearsay::runtime
