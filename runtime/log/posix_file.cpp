// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/posix_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace hearsay::runtime {
namespace {

constexpr std::size_t kMaxCallBytes = std::size_t{1}
                                      << 30;  // Linux moves at most 2 GiB - 4 KiB a call

}  // namespace

FileHandle::FileHandle(FileHandle&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

int FileHandle::close() noexcept {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0 || ::close(descriptor) == 0) return 0;
  return errno == EINTR ? 0 : errno;  // Linux has released the descriptor even then; closing twice
                                      // would be the bug
}

FileHandle open_file(const std::string& path, int flags) {
  while (true) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EINTR) return FileHandle(descriptor);
  }
}

WriteOutcome write_all(int descriptor, std::string_view bytes) noexcept {
  WriteOutcome outcome;
  while (outcome.written_bytes < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - outcome.written_bytes, kMaxCallBytes);
    const ssize_t moved = ::write(descriptor, bytes.data() + outcome.written_bytes, wanted);
    if (moved > 0) {
      outcome.written_bytes += static_cast<std::size_t>(moved);
    } else if (moved == 0 || errno != EINTR) {
      outcome.error = moved == 0 ? EIO : errno;  // a write of nothing would repeat for ever
      return outcome;
    }
  }
  return outcome;
}

std::ptrdiff_t read_at(int descriptor, std::span<char> bytes, std::size_t offset_bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - done, kMaxCallBytes);
    const ssize_t moved =
        ::pread(descriptor, bytes.data() + done, wanted, static_cast<off_t>(offset_bytes + done));
    if (moved == 0) break;
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<std::ptrdiff_t>(done);
}

bool lock_in_time(int descriptor) {
  constexpr std::chrono::milliseconds kPatience{2000}, kTick{20};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return true;
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kTick);
  }
  return true;
}

int sync_file(int descriptor) noexcept {
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
  }
  return 0;
}

void ignore_file_size_signal() noexcept { std::signal(SIGXFSZ, SIG_IGN); }

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace hearsay::runtime
