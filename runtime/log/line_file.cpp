// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/line_file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

constexpr std::size_t kPieceBytes = 1 << 16;

[[noreturn]] void fail(const std::string& path, const char* what, int error) {
  throw kernels::Fault(kernels::ExitCode::check_failed,
                       path + ": " + what + ": " + error_text(error));
}

}  // namespace

LineFile::LineFile(std::string path) : path_(std::move(path)) {
  file_ = open_file(path_, O_RDWR | O_CREAT | O_APPEND);
  if (!file_.is_open()) fail(path_, "cannot be opened", errno);
  if (!lock_in_time(file_.get())) {
    throw kernels::UsageError(
        path_ + ": another process is writing it; this peer has not ended, wait for it");
  }
  std::string text;
  std::vector<char> piece(kPieceBytes);
  for (std::size_t at = 0;;) {
    const std::ptrdiff_t count = read_at(file_.get(), piece, at);
    if (count < 0) fail(path_, "cannot be read", errno);
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
    at += static_cast<std::size_t>(count);
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines_.push_back(text.substr(begin, end - begin));
  if (begin < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(begin)) != 0)
    fail(path_, "cannot be cut off after its last whole line", errno);
}

void LineFile::append(const std::string& line) {
  const WriteOutcome outcome = write_all(file_.get(), line + "\n");
  if (outcome.error != 0) fail(path_, "cannot be written", outcome.error);
  if (const int error = sync_file(file_.get())) fail(path_, "cannot be synced", error);
}

}  // namespace hearsay::runtime
