// SPDX-License-Identifier: Apache-2.0
// hearsay export RUN --to FORMAT: a run for other programs, from its event logs. What is there
// already is never overwritten unless --force says so. Exit code 4 when logs are damaged; what
// could be read is exported all the same.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <nlohmann/json.hpp>

#include "kernels/core/errc.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/export/formats.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using kernels::UsageError;

struct Format {
  const char* name;
  const char* file;  // in the run, when nobody says where
  bool is_folder;
  Damage (*write)(const RunDir& run, const std::string& out);
};

const std::vector<Format>& formats() {
  static const std::vector<Format> all{{"graphml", "graph.graphml", false, export_graphml},
                                       {"graph", "graph.json", false, export_graph_json},
                                       {"csv", "csv", true, export_csv},
                                       {"tensorboard", "tb", true, export_tensorboard},
                                       {"sqlite", "run.sqlite", false, export_sqlite}};
  return all;
}

const CommandSyntax& export_syntax() {
  static const CommandSyntax syntax{
      .name = "export",
      .words = "[RUN]",
      .summary = "a run (runs/latest) for other programs, from its event logs",
      .options = {"json"},
      .own = {Option{.name = "to",
                     .default_text = "",
                     .kind = ValueKind::text,
                     .placeholder = "FORMAT",
                     .help = "graphml, graph, csv, tensorboard or sqlite",
                     .detail = "graph is graph.json, the merge graph as columns.",
                     .group = "output"},
              Option{.name = "out",
                     .default_text = "",
                     .kind = ValueKind::text,
                     .placeholder = "PATH",
                     .help = "or -o: where to; else into the run",
                     .detail = "csv and tensorboard make a folder, the others a file.",
                     .group = "output"},
              Option{.name = "force",
                     .default_text = "false",
                     .kind = ValueKind::boolean,
                     .placeholder = "",
                     .help = "overwrite what is there",
                     .detail = "",
                     .group = "output"}},
      .max_words = 1,
      .examples = {"hearsay export --to csv", "hearsay export runs/latest --to sqlite -o run.db",
                   "hearsay export --to tensorboard; tensorboard --logdir runs/latest/tb"}};
  return syntax;
}

const Format& format_of(const Arguments& arguments) {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  const auto word = arguments.value("to");
  if (!word || word->empty())
    throw UsageError("export: say a format: --to graphml, graph, csv, tensorboard or sqlite");
  for (const Format& format : formats()) {
    if (*word == format.name) return format;
  }
  throw_unknown("format", *word, names);
}

void check_free(const std::string& out, const Format& format, bool force) {
  std::error_code none;
  if (!fs::exists(fs::symlink_status(out, none))) return;
  if (fs::is_directory(out, none) != format.is_folder)
    throw UsageError("export: " + out + " is " + (format.is_folder ? "no folder" : "a folder") +
                     "; name another place with -o");
  if (!force && !(format.is_folder && fs::is_empty(out, none)))
    throw UsageError("export: " + out +
                     " is there already; --force overwrites it, -o names "
                     "another place");
}

}  // namespace

int command_export(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = export_syntax();
  std::vector<std::string> words = args;
  std::replace(words.begin(), words.end(), std::string("-o"), std::string("--out"));
  const Arguments arguments = parse_arguments(syntax, words);
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  const Format& format = format_of(arguments);
  const std::string path = arguments.words.empty() ? "runs/latest" : arguments.words.front();
  const RunDir run = RunDir::open(path);
  const auto given = arguments.value("out");
  const std::string out = given && !given->empty() ? *given : run.path() + "/" + format.file;
  check_free(out, format, arguments.is_on("force"));
  const Damage damage = format.write(run, out);
  if (wants_json(arguments)) {
    const nlohmann::ordered_json j = {
        {"run", run.path()}, {"format", format.name}, {"out", out}, {"damaged", damage}};
    std::cout << j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  } else {
    std::cout << printable(out) << "\n";
  }
  for (const std::string& line : damage) std::cerr << "damaged  " << printable(line) << "\n";
  return static_cast<int>(damage.empty() ? kernels::ExitCode::ok : kernels::ExitCode::damaged);
}

}  // namespace hearsay::runtime
