// SPDX-License-Identifier: Apache-2.0
// hearsay report RUN...: one HTML page about a run, or about several side by side. Reads runs at
// any state, also damaged ones; writes the page atomically.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "kernels/core/errc.hpp"
#include "runtime/app/command.hpp"
#include "runtime/app/styled_line.hpp"
#include "runtime/config/spec.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/report/load.hpp"
#include "runtime/report/page.hpp"
#include "runtime/report/summary.hpp"
#include "runtime/report/thumbnails.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using kernels::UsageError;

constexpr std::size_t kMostRuns = 200;
constexpr std::string_view kPageBegins = "<!doctype html>";

const CommandSyntax& report_syntax() {
  static const CommandSyntax syntax{
      .name = "report",
      .words = "[RUN...] [-o FILE]",
      .summary = "one HTML page about a run (runs/latest), or about several side by side",
      .options = {"json"},
      .own = {Option{.name = "out",
                     .default_text = "",
                     .kind = ValueKind::text,
                     .placeholder = "FILE",
                     .help = "where the page goes, also -o [RUN/report.html]",
                     .detail = "Several runs: report.html in this folder. Without it summary.json "
                               "is written too.",
                     .group = "output"},
              Option{.name = "thumbnails",
                     .default_text = "false",
                     .kind = ValueKind::boolean,
                     .placeholder = "",
                     .help = "pictures of examples that travelled: RAW DATA in the page",
                     .detail = "Out of the run's data set, for runs with --log-examples: whoever "
                               "gets the page sees them.",
                     .group = "output"}},
      .max_words = kMostRuns,
      .examples = {"hearsay report", "hearsay report runs/latest -o page.html",
                   "hearsay report runs/gossip-s0 runs/gossip-s1 runs/ddp-s0 -o comparison.html"}};
  return syntax;
}

// -o FILE and -oFILE are --out FILE; all other words are the parser's.
std::vector<std::string> with_long_names(const std::vector<std::string>& args) {
  std::vector<std::string> words;
  for (const std::string& word : args) {
    const bool is_short = word.starts_with("-o") && !word.starts_with("--");
    words.push_back(!is_short ? word : word.size() == 2 ? "--out" : "--out=" + word.substr(2));
  }
  return words;
}

// What was there and is no page was not made by this command.
void check_target(const std::string& path) {
  std::error_code none;
  if (fs::is_directory(path, none))
    throw UsageError("report: " + path + " is a folder; name a file, such as " + path +
                     "/report.html");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, none))
    throw UsageError("report: there is no folder " + folder.string() + " to write " + path + " to");
  std::ifstream in(path, std::ios::binary);
  if (!in) return;
  std::string begin(kPageBegins.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (in.gcount() != 0 && begin != kPageBegins)
    throw UsageError("report: " + path + " exists and is no page; remove it, or name another file");
}

bool wants_thumbnails(const Arguments& arguments) {
  const auto text = arguments.value("thumbnails");
  return text && parse_boolean("--thumbnails", *text);
}

std::string remake_command(const std::vector<std::string>& runs, const std::string& out,
                           bool thumbnails) {
  std::string text = "hearsay report";
  for (const std::string& run : runs) text += " " + report::quoted(run);
  if (thumbnails) text += " --thumbnails";
  return text + (out.empty() ? "" : " -o " + report::quoted(out));
}

// Terminals may know nothing but ASCII.
std::string plain(std::string text) {
  const std::pair<std::string_view, std::string_view> kPlain[] = {
      {"±", "+-"}, {"µ", "u"}, {"–", "-"}, {"…", "..."}, {"\u00a0", " "}};
  for (const auto& [sign, words] : kPlain) {
    for (std::size_t at = text.find(sign); at != text.npos; at = text.find(sign, at + words.size()))
      text.replace(at, sign.size(), words);
  }
  return printable(text);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int command_report(const std::vector<std::string>& args) {
  const CommandSyntax& syntax = report_syntax();
  const Arguments arguments = parse_arguments(syntax, with_long_names(args));
  if (const auto help = help_text(syntax, arguments)) {
    std::cout << *help;
    return 0;
  }
  std::vector<std::string> words = arguments.words;
  if (words.empty()) words.emplace_back("runs/latest");
  const std::string out = arguments.value("out").value_or("");
  if (arguments.has("out") && out.empty()) throw UsageError("report: -o needs the name of a file");
  if (!out.empty()) check_target(out);
  std::vector<report::RunFacts> runs;
  for (const std::string& word : words) {
    runs.push_back(report::load_run(word));
    const auto same = std::count_if(runs.begin(), runs.end(), [&](const report::RunFacts& run) {
      return run.path == runs.back().path;
    });
    if (same > 1)
      throw UsageError("report: " + runs.back().path + " is named twice; once is enough");
  }
  const std::string page = !out.empty()       ? out
                           : runs.size() == 1 ? runs[0].path + "/report.html"
                                              : "report.html";
  if (out.empty()) check_target(page);
  const bool pictures = wants_thumbnails(arguments);
  if (pictures) report::add_thumbnails(runs.front());
  const report::Report report = report::make_report(runs);
  write_file_atomically(page, report::page_of(report, runs, remake_command(words, out, pictures)));
  const auto summary = report::summary_of(report, runs, page);
  if (out.empty()) {
    const fs::path beside = fs::path(page).parent_path() / "summary.json";
    write_file_atomically(beside.string(), json_text(summary));
  }
  if (wants_json(arguments)) {
    std::cout << json_text(summary);
    return 0;
  }
  std::cout << printable(page) << "\n" << plain(report.headline) << "\n";
  for (const report::RunFacts& run : runs) {
    for (const std::string& sentence : run.missing)
      std::cerr << plain(run.name + ": " + sentence) << "\n";
  }
  return 0;
}

}  // namespace hearsay::runtime
