// SPDX-License-Identifier: Apache-2.0
// A run directory in memory whose files are all one and the same: the file under test. For decoders
// that take a run and not a path.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/fuzz/support.hpp"

namespace hearsay::fuzz {

class RunFolder {
 public:
  explicit RunFolder(const std::string& file) {
    require(::mkdtemp(path_.data()) != nullptr, "a folder in memory can be made");
    std::filesystem::create_directories(path_ + "/peers/p00");
    std::filesystem::create_symlink(file, path_ + "/peers/p00/endpoint.json");
  }
  RunFolder(const RunFolder&) = delete;
  ~RunFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/dev/shm/hearsay-fuzz-XXXXXX";
};

}  // namespace hearsay::fuzz
