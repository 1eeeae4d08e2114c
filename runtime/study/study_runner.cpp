// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/study_runner.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "kernels/core/errc.hpp"
#include "runtime/log/atomic_file.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using kernels::UsageError;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<Json> json_file(const std::string& path) {
  const Json json = Json::parse(file_text(path), nullptr, false);
  return json.is_object() ? std::optional(json) : std::nullopt;
}

std::string verdict_of(const Json& result) {
  const auto verdict = result.find("verdict");
  return verdict != result.end() && verdict->is_string() ? verdict->get<std::string>() : "";
}

// Of the last line that a child wrote on stderr.
std::string last_line(const std::string& path) {
  std::string text = file_text(path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

// A child with its output in a file, that does not outlive this process. Throws UsageError.
pid_t spawn(const std::string& program, const std::vector<std::string>& words,
            const std::string& output) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw UsageError("a run cannot be started: " + std::string(std::strerror(errno)));
  if (pid > 0) return pid;
  // In the child: only calls that are safe after fork().
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool ready = getppid() == parent && file >= 0 && nothing >= 0 && dup2(file, 1) >= 0 &&
                     dup2(file, 2) >= 0 && dup2(nothing, 0) >= 0 && setpgid(0, 0) == 0;
  if (ready) execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

StudyRunner::StudyRunner(const Study& study, StudyOptions options)
    : study_(study), options_(std::move(options)) {}

std::string StudyRunner::config_path(const StudyPoint& point) const {
  return options_.folder + "/points/" + point.name + ".json";
}

std::string StudyRunner::run_path(const StudyPoint& point) const {
  return options_.folder + "/" + point.name;
}

void StudyRunner::prepare() {
  std::error_code error;
  fs::create_directories(options_.folder + "/points", error);
  if (error) throw UsageError("--run " + options_.folder + ": " + error.message());
  for (const StudyPoint& point : study_.points) {
    Json config = point.config;
    const std::string path = config_path(point), text = config.dump(2) + "\n";
    if (fs::exists(path) && file_text(path) != text)
      throw UsageError("--run " + options_.folder + ": holds " + point.name +
                       " of another study; name another folder, or remove that one");
    if (!fs::exists(path)) write_file_atomically(path, text);
  }
}

std::vector<std::string> StudyRunner::words(const StudyPoint& point) const {
  std::vector<std::string> words{
      "sim", "--config", config_path(point), "--run", run_path(point), "--threads", "1", "--quiet"};
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  return words;
}

std::optional<StudyResult> StudyRunner::finished(const StudyPoint& point) const {
  const std::string run = run_path(point);
  auto result = json_file(run + "/result.json");
  if (!result) return std::nullopt;
  const std::string verdict = verdict_of(*result);
  if (verdict.empty() || verdict == "interrupted" || verdict == "log failed") return std::nullopt;
  StudyResult done{point.name, run, std::move(result), {}};
  if (verdict != "ok") {
    const auto reason = done.result->find("reason");
    const bool said = reason != done.result->end() && reason->is_string();
    done.failure = verdict + (said ? ": " + reason->get<std::string>() : "");
  }
  return done;
}

std::vector<StudyResult> StudyRunner::run(
    const std::function<void(const StudyProgress&)>& progress) {
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::size_t point;
    Clock::time_point begun;
  };
  std::map<std::size_t, StudyResult> results;
  std::deque<std::size_t> waiting;
  StudyProgress now{0, study_.points.size(), 0, std::nan("")};
  for (std::size_t i = 0; i < study_.points.size(); ++i) {
    auto done = finished(study_.points[i]);
    if (!done) {
      waiting.push_back(i);
      continue;
    }
    ++now.done;
    now.failed += done->failure.empty() ? 0 : 1;
    results.emplace(i, std::move(*done));
  }
  progress(now);
  std::map<pid_t, Child> children;
  double spent_s = 0.0;
  std::size_t ended = 0;
  bool stopping = false;
  while (!children.empty() || (!waiting.empty() && !stopping)) {
    if (!stopping && options_.interrupted && options_.interrupted()) {
      stopping = true;
      for (const auto& [pid, child] : children) kill(pid, SIGTERM);
    }
    while (!stopping && !waiting.empty() && children.size() < options_.jobs) {
      const StudyPoint& point = study_.points[waiting.front()];
      std::error_code ignored;
      fs::remove_all(run_path(point), ignored);  // cut off by an earlier call
      const std::string output = options_.folder + "/points/" + point.name + ".stderr";
      children[spawn(options_.program, words(point), output)] = {waiting.front(), Clock::now()};
      waiting.pop_front();
    }
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    const auto child = children.find(pid);
    if (child == children.end()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const auto [index, begun] = child->second;
    children.erase(child);
    const StudyPoint& point = study_.points[index];
    auto done = finished(point);
    if (!done && stopping) continue;
    if (!done) {
      done = StudyResult{point.name, run_path(point), std::nullopt, {}};
      done->failure = last_line(options_.folder + "/points/" + point.name + ".stderr");
      if (done->failure.empty())
        done->failure = WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                                            : "exit code " + std::to_string(WEXITSTATUS(status));
    }
    spent_s += std::chrono::duration<double>(Clock::now() - begun).count();
    ++now.done;
    now.failed += done->failure.empty() ? 0 : 1;
    now.left_s =
        spent_s / static_cast<double>(++ended) *
        std::ceil(static_cast<double>(now.of - now.done) / static_cast<double>(options_.jobs));
    results.emplace(index, std::move(*done));
    progress(now);
  }
  std::vector<StudyResult> all;
  for (auto& [index, result] : results) all.push_back(std::move(result));
  return all;
}

}  // namespace hearsay::runtime
