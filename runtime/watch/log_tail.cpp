// SPDX-License-Identifier: Apache-2.0
#include "runtime/watch/log_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace hearsay::runtime {

// The file that has the name now; false while there is none.
bool LogTail::open_current(const Reader& reader) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return file_.is_open();  // a deleted one can be read on
  const bool is_same =
      file_.is_open() && status.st_ino == inode_ && status.st_size >= static_cast<off_t>(offset_);
  if (is_same) return true;
  FileHandle file = open_file(path_, O_RDONLY);
  if (!file.is_open()) return false;
  const bool is_first = !file_.is_open();
  file_ = std::move(file);
  inode_ = status.st_ino;
  offset_ = 0;
  torn_.clear();
  is_too_long_ = false;
  if (!is_first) reader.begins_anew();
  return true;
}

bool LogTail::read(const Reader& reader) {
  if (!open_current(reader)) return false;
  std::array<char, 64 * 1024> buffer;
  for (std::size_t taken = 0; taken < kMostBytes;) {
    const std::ptrdiff_t got = read_at(file_.get(), buffer, offset_);
    if (got <= 0) return false;
    const auto bytes = static_cast<std::size_t>(got);
    offset_ += bytes;
    taken += bytes;
    take(std::string_view(buffer.data(), bytes), reader);
    if (bytes < buffer.size()) return false;
  }
  return true;
}

void LogTail::take(std::string_view bytes, const Reader& reader) {
  for (std::size_t end; (end = bytes.find('\n')) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    const std::string_view rest = bytes.substr(0, end);
    if (is_too_long_) {
      is_too_long_ = false;
    } else if (torn_.empty()) {
      reader.line(rest);
    } else {
      torn_ += rest;
      reader.line(torn_);
    }
    torn_.clear();
  }
  if (is_too_long_) return;
  torn_ += bytes;
  if (torn_.size() <= kMostLine) return;
  torn_.clear();
  is_too_long_ = true;
}

}  // namespace hearsay::runtime
