// SPDX-License-Identifier: Apache-2.0
// hearsay sim --study FILE: the runs of a study, and its table.
#include "runtime/app/command_study.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <thread>

#include <unistd.h>

#include "kernels/core/errc.hpp"
#include "runtime/app/catalog.hpp"
#include "runtime/app/progress_text.hpp"
#include "runtime/app/signals.hpp"
#include "runtime/config/config.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/host/assembly.hpp"
#include "runtime/log/atomic_file.hpp"
#include "runtime/study/study_runner.hpp"
#include "runtime/study/study_table.hpp"

namespace hearsay::runtime {
namespace {

using kernels::UsageError;

// Flags that are about the call; all others are handed on, and go before what the study says.
constexpr std::string_view kOwn[]{"study", "run", "threads", "json", "quiet", "dry-run"};

bool is_own(std::string_view name) {
  return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

std::vector<std::string> handed_on(const Arguments& arguments, const Study& study) {
  std::vector<std::string> words;
  for (const auto& [name, text] : arguments.flags) {
    if (name == "config" || name == "resume")
      throw UsageError("--" + name + ": not with --study, which has a base and goes on by itself");
    if (std::find(study.keys.begin(), study.keys.end(), name) != study.keys.end())
      throw UsageError("--" + name + " " + text + ": varies in the study; leave it out");
    if (!is_own(name)) words.push_back("--" + name + "=" + text);
  }
  return words;
}

std::string own_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) throw UsageError("--study: /proc/self/exe cannot be read");
  return {path, static_cast<std::size_t>(length)};
}

// Every point is read as its process will read it, before the first is begun.
void check_points(const Study& study, const std::vector<std::string>& flags,
                  const std::string& path) {
  const Arguments arguments = parse_arguments(sim_syntax(), flags);
  for (const StudyPoint& point : study.points) {
    const std::string where = "--study, run " + point.name;
    try {
      const OptionTexts texts = parse_config_text(point.config.dump(), path);
      const Settings settings =
          merge_settings(arguments, process_environment(), texts, "study " + path);
      const RunConfig config = typed_config(settings);
      check_names(config);
      build_pool_plan(config);
    } catch (const UsageError& error) {
      throw UsageError(where + ": " + error.what());
    }
  }
}

void show(const StudyProgress& now, bool on_terminal) {
  char left[64] = "";
  if (!std::isnan(now.left_s) && now.done < now.of)
    std::snprintf(left, sizeof left, ", %s left", clock_text(now.left_s).c_str());
  std::cerr << (on_terminal ? "\r\033[K" : "") << now.done << "/" << now.of << " runs"
            << (now.failed > 0 ? ", " + std::to_string(now.failed) + " failed" : "") << left
            << (on_terminal && now.done < now.of ? "" : "\n") << std::flush;
}

int list_points(const Study& study, const StudyRunner& runner) {
  for (const StudyPoint& point : study.points) {
    std::cout << "hearsay";
    for (const std::string& word : runner.words(point)) std::cout << " " << word;
    std::cout << "\n";
  }
  std::cout << study.points.size() << " runs; dry run: nothing was trained\n";
  return 0;
}

}  // namespace

int run_study(const Arguments& arguments, const std::string& path) {
  const Study study = read_study(path);
  Arguments own = arguments;
  std::erase_if(own.flags, [](const auto& flag) { return flag.first == "study"; });
  const RunConfig config = typed_config(merge_settings(own, process_environment()));
  StudyOptions options;
  options.program = own_program();
  options.folder = !config.run_dir.empty()
                       ? config.run_dir
                       : "runs/" + std::filesystem::path(path).stem().string() + "-study";
  options.flags = handed_on(arguments, study);
  options.jobs =
      config.threads > 0 ? config.threads : std::max(1u, std::thread::hardware_concurrency());
  options.interrupted = [] { return stop_signal() != 0; };
  check_points(study, options.flags, path);
  StudyRunner runner(study, options);
  if (config.dry_run) return list_points(study, runner);
  runner.prepare();
  if (!config.quiet)
    std::cerr << "hearsay: a study of " << study.points.size() << " runs, " << options.jobs
              << " at a time  ->  " << options.folder << "\n";
  catch_stop_signals();
  const bool on_terminal = isatty(STDERR_FILENO) == 1;
  const auto results = runner.run([&](const StudyProgress& now) {
    if (!config.quiet) show(now, on_terminal);
  });
  if (stop_signal() != 0) {
    std::cerr << (on_terminal ? "\n" : "") << "hearsay: interrupted after " << results.size()
              << " of " << study.points.size() << " runs; the same command goes on\n";
    return 128 + stop_signal();
  }
  const StudyTable table = study_table(study, results);
  nlohmann::ordered_json json{{"study", path}, {"folder", options.folder}};
  json["rows"] = study_json(table);
  std::size_t failed = 0;
  for (const StudyResult& result : results) {
    if (result.failure.empty()) continue;
    ++failed;
    std::cerr << "hearsay: " << result.name << ": " << result.failure << "\n";
  }
  write_file_atomically(options.folder + "/study.json", json.dump(2) + "\n");
  std::cout << (config.json ? json.dump(2) + "\n" : study_text(table));
  return static_cast<int>(failed == 0 ? kernels::ExitCode::ok : kernels::ExitCode::check_failed);
}

}  // namespace hearsay::runtime
