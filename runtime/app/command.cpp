// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/command.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "kernels/core/errc.hpp"
#include "runtime/app/version.hpp"
#include "runtime/config/spec.hpp"

namespace hearsay::runtime {

using kernels::ExitCode;
using kernels::Fault;
using kernels::UsageError;

namespace {

int report(const std::string& line, ExitCode code) {
  std::string flat = line;
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  std::cout.flush();
  std::cerr << "hearsay: " << flat << std::endl;
  return static_cast<int>(code);
}

template <typename Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.emplace_back(entry.name);
  }
  return names;
}

int dispatch(const std::vector<std::string>& args) {
  if (args.empty()) {
    std::cerr << overview_text();
    return static_cast<int>(ExitCode::usage);
  }
  const std::string& first = args.front();
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (first == "-h" || first == "--help") {
    return command_help(rest);
  }
  if (first == "--version") {
    std::cout << version_text() << "\n";
    return static_cast<int>(ExitCode::ok);
  }
  for (const Command& command : command_table()) {
    if (command.name == first) {
      return command.run(rest);
    }
  }
  if (first.starts_with("-")) {
    throw UsageError("unknown option " + first +
                     " before the command; options follow it: hearsay sim " + first);
  }
  throw_unknown("command", first, names_of(command_table()));
}

}  // namespace

const std::vector<Command>& command_table() {
  static const std::vector<Command> commands{
      {"launch", "start N peers as processes on this machine and watch them", command_launch},
      {"train", "be one peer: under a launcher (mpirun, srun, torchrun) or by hand", command_train},
      {"sim", "train a pool of peers in one process, in virtual time", command_sim},
      {"watch", "live view of a run: its directory, or what --metrics serves", command_watch},
      {"replay", "make a live run again, bit for bit, or with one thing changed", command_replay},
      {"report", "one HTML page about a run, or about several side by side", command_report},
      {"inspect", "say what a run, checkpoint, model, journal or frame file is; verify it",
       command_inspect},
      {"export", "a run as TensorBoard, CSV, SQLite, GraphML", command_export},
      {"bench", "measure training steps, mixing, the wire: train, mix, net", command_bench},
      {"data", "say what a data set holds and how it is divided: describe, split", command_data},
      {"config", "effective options and their origin, names and costs: show, check, list",
       command_config},
      {"doctor", "say what this machine can do, and why not more", command_doctor},
      {"help", "this text, or that of a command", command_help},
  };
  return commands;
}

int run_command_line(const std::vector<std::string>& args) {
  try {
    const int code = dispatch(args);
    std::cout.flush();
    if (!std::cout) {
      return report("writing the result to stdout failed (disk full?)", ExitCode::usage);
    }
    return code;
  } catch (const Fault& fault) {
    return report(fault.what(), fault.code());
  } catch (const std::bad_alloc&) {
    return report("out of memory", ExitCode::usage);
  } catch (const std::exception& error) {
    return report(error.what(), ExitCode::usage);
  }
}

bool wants_json(const Arguments& arguments) {
  if (arguments.has("json")) {
    return arguments.is_on("json");
  }
  const char* const variable = std::getenv("HEARSAY_JSON");
  return variable != nullptr && *variable != '\0' && parse_boolean("HEARSAY_JSON", variable);
}

int run_verb(std::string_view command, const std::vector<Verb>& verbs,
             const std::vector<std::string>& args) {
  const std::string prefix = "hearsay " + std::string(command);
  if (!args.empty() &&
      (args.front() == "-h" || args.front() == "--help" || args.front() == "--help-all")) {
    for (const Verb& verb : verbs) {
      std::string left = prefix + " " + std::string(verb.name);
      left.resize(std::max<std::size_t>(left.size() + 2, 24), ' ');
      std::cout << left << verb.summary << "\n";
    }
    std::cout << "Each takes --help.\n";
    return static_cast<int>(ExitCode::ok);
  }
  if (args.empty() || args.front().starts_with("-")) {
    std::string line = prefix + " needs a word after it:";
    for (const Verb& verb : verbs) {
      line += " " + std::string(verb.name);
    }
    throw UsageError(line + (args.empty() ? "" : " (options follow it)"));
  }
  for (const Verb& verb : verbs) {
    if (verb.name == args.front()) {
      return verb.run({args.begin() + 1, args.end()});
    }
  }
  throw_unknown("word after " + prefix, args.front(), names_of(verbs));
}

}  // namespace hearsay::runtime
