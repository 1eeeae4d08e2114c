// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/run_dir.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "kernels/core/errc.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxSameName = 10'000;  // runs of one preset and seed in one second

[[noreturn]] void cannot_make(const std::string& path, int error) {
  throw kernels::UsageError("run directory " + path + " cannot be made: " + error_text(error) +
                            "; choose another --run");
}

std::string normalised(const std::string& path) {
  if (path.empty())
    throw kernels::UsageError("run directory: the name is empty; choose another --run");
  std::string text = fs::path(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// Points `latest` beside the run to it. A convenience: when it cannot be done (no symlinks here, or
// somebody's own file has that name) the run goes on without.
void point_latest_to(const fs::path& run) {
  const fs::path parent = run.parent_path();
  if (parent.empty() || parent == "." || parent == "/") return;
  const std::string link = (parent / "latest").string();
  struct stat status {};
  if (::lstat(link.c_str(), &status) == 0 && !S_ISLNK(status.st_mode)) return;
  const std::string temporary = (parent / (".latest-" + run.filename().string())).string();
  ::unlink(temporary.c_str());
  if (::symlink(run.filename().c_str(), temporary.c_str()) != 0) return;
  if (std::rename(temporary.c_str(), link.c_str()) != 0) ::unlink(temporary.c_str());
}

// 0 or the errno of the mkdir that failed. EEXIST is about `path` itself only.
int make_run(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) return error.value() == EEXIST ? ENOTDIR : error.value();
  if (::mkdir(path.c_str(), 0777) != 0) return errno;
  point_latest_to(path);
  return 0;
}

}  // namespace

RunDir RunDir::create(const std::string& path) {
  const std::string run = normalised(path);
  const int error = make_run(run);
  if (error == EEXIST) {
    throw kernels::UsageError("run directory " + run +
                              " exists; choose another --run or remove it");
  }
  if (error != 0) cannot_make(run, error);
  return RunDir(run);
}

RunDir RunDir::create_default(const std::string& parent, std::string_view preset,
                              std::uint64_t seed, std::chrono::system_clock::time_point now) {
  const std::string base = normalised(parent + "/" + default_run_name(preset, seed, now));
  for (int copy = 1; copy <= kMaxSameName; ++copy) {
    const std::string run = copy == 1 ? base : base + "-" + std::to_string(copy);
    const int error = make_run(run);
    if (error == 0) return RunDir(run);
    if (error != EEXIST) cannot_make(run, error);
  }
  cannot_make(base, EEXIST);
}

RunDir RunDir::open_or_create(const std::string& path) {
  const std::string run = normalised(path);
  const int error = make_run(run);
  if (error != 0 && error != EEXIST) cannot_make(run, error);
  return open(run);
}

RunDir RunDir::open(const std::string& path) {
  std::string run = normalised(path);
  std::error_code ignored;
  if (const fs::path target = fs::read_symlink(run, ignored); !target.empty())
    run = normalised((fs::path(run).parent_path() / target).string());
  struct stat status {};
  if (::stat(run.c_str(), &status) != 0)
    throw kernels::UsageError("run directory " + run + ": " + error_text(errno));
  if (!S_ISDIR(status.st_mode))
    throw kernels::UsageError("run directory " + run + " is not a folder");
  return RunDir(run);
}

std::string RunDir::prepare_exported_model() const {
  const std::string folder = path_ + "/export";
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) cannot_make(folder, errno);
  return exported_model();
}

std::string RunDir::peer_dir(std::string_view peer) const {
  return path_ + "/peers/" + std::string(peer);
}

std::string RunDir::peer_endpoint(std::string_view peer) const {
  return peer_dir(peer) + "/endpoint.json";
}

std::string RunDir::peer_events(std::string_view peer) const {
  return peer_dir(peer) + "/events.jsonl";
}

std::string RunDir::peer_stderr(std::string_view peer) const {
  return peer_dir(peer) + "/stderr.log";
}

std::string RunDir::peer_result(std::string_view peer) const {
  return peer_dir(peer) + "/result.json";
}

std::string RunDir::peer_checkpoints(std::string_view peer) const {
  return peer_dir(peer) + "/ckpt";
}

std::string RunDir::prepare_peer_dir(std::string_view peer) const {
  const std::string folder = peer_dir(peer);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot_make(folder, error.value());
  return folder;
}

std::string default_run_name(std::string_view preset, std::uint64_t seed,
                             std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char stamp[32];
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  return std::string(preset) + "-s" + std::to_string(seed) + "-" + std::string(stamp, length);
}

}  // namespace hearsay::runtime
