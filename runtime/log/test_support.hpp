// SPDX-License-Identifier: Apache-2.0
// Helpers of the log tests: a folder that disappears, whole-file access, and a child process with a
// file size limit.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace hearsay::runtime {

class TempDir {
 public:
  TempDir() : path_((std::filesystem::temp_directory_path() / "hearsay-log-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  }
  TempDir(TempDir&&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::size_t entries(const std::string& folder) {
  std::filesystem::directory_iterator first(folder);
  return static_cast<std::size_t>(std::distance(begin(first), end(first)));
}

// Runs `body` in a child that cannot make a file longer than `limit_bytes`; returns what body()
// returned, 100 + signal when the child was killed, 99 when body threw something unexpected.
template <typename Body>
int run_with_file_limit(std::size_t limit_bytes, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit limit { limit_bytes, limit_bytes };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(98);
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child)
    throw std::runtime_error("fork or waitpid failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace hearsay::runtime
