// SPDX-License-Identifier: Apache-2.0
// Follows a file that somebody else writes, by its whole lines: it may not be there yet, grow in
// the middle of a line, or be replaced by another of the same name. Invariant: every line is handed
// on once, and only when its end is there; memory is bounded by kMostLine whatever the file holds.
// Lane: the viewer's. Cost of a look at a file without news: two system calls.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {

class LogTail {
 public:
  static constexpr std::size_t kMostLine = std::size_t{1} << 20;   // longer ones are passed over
  static constexpr std::size_t kMostBytes = std::size_t{1} << 18;  // of the file, a call

  explicit LogTail(std::string path) : path_(std::move(path)) {}

  struct Reader {
    std::function<void()> begins_anew;  // what came before belongs to a file that is gone
    std::function<void(std::string_view)> line;
  };
  // True when more can be read at once.
  bool read(const Reader& reader);
  const std::string& path() const noexcept { return path_; }

 private:
  bool open_current(const Reader& reader);
  void take(std::string_view bytes, const Reader& reader);

  std::string path_;
  FileHandle file_;
  ino_t inode_ = 0;
  std::size_t offset_ = 0;
  std::string torn_;          // the line whose end is not there yet
  bool is_too_long_ = false;  // the rest of that line is thrown away
};

}  // namespace hearsay::runtime
