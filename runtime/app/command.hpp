// SPDX-License-Identifier: Apache-2.0
// The commands of the one binary and how a command line becomes an exit code. stdout carries
// results, stderr is for people. A command gets the words after its name, returns an exit code and
// throws Fault for one line and another code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/command_line.hpp"

namespace hearsay::runtime {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);
};

const std::vector<Command>& command_table();

// Everything that main does: dispatch, errors as one line on stderr, exit code.
int run_command_line(const std::vector<std::string>& args);

int command_export(const std::vector<std::string>& args);
int command_inspect(const std::vector<std::string>& args);
int command_launch(const std::vector<std::string>& args);
int command_sim(const std::vector<std::string>& args);
int command_bench(const std::vector<std::string>& args);
int command_config(const std::vector<std::string>& args);
int command_data(const std::vector<std::string>& args);
int command_doctor(const std::vector<std::string>& args);
int command_help(const std::vector<std::string>& args);
int command_replay(const std::vector<std::string>& args);
int command_report(const std::vector<std::string>& args);
int command_train(const std::vector<std::string>& args);
int command_watch(const std::vector<std::string>& args);

std::string overview_text();  // `hearsay --help`: commands and three examples, one screen

// --json, or HEARSAY_JSON for commands that read no run options.
bool wants_json(const Arguments& arguments);

// Splits "show", "--json", ... into the verb and its arguments, for commands that consist of verbs.
struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);
};
int run_verb(std::string_view command, const std::vector<Verb>& verbs,
             const std::vector<std::string>& args);

}  // namespace hearsay::runtime
