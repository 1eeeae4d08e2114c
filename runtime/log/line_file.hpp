// SPDX-License-Identifier: Apache-2.0
// A file of lines, each on disk when append() returns, for what must not be forgotten. A last line
// without its end was never promised to anybody: it is cut off when the file is opened. One process
// at a time has it open. Throws a Fault with path and errno text. Lane: one at a time. Cost: a
// write and an fsync a line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {

class LineFile {
 public:
  explicit LineFile(std::string path);

  const std::string& path() const noexcept { return path_; }
  std::span<const std::string> lines() const noexcept { return lines_; }  // when it was opened
  void append(const std::string& line);

 private:
  std::string path_;
  std::vector<std::string> lines_;
  FileHandle file_;
};

}  // namespace hearsay::runtime
