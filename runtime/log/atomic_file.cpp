// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "kernels/core/errc.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {
namespace {

constexpr int kMaxTurns = 1000;  // writers of one file that may be served before this one

[[noreturn]] void fail(const std::string& path, const std::string& step, int error,
                       const std::string& advice) {
  throw kernels::Fault(kernels::ExitCode::check_failed,
                       path + ": " + step + ": " + error_text(error) + "; " + advice);
}

constexpr const char* kOldIsSafe =
    "what was there before is untouched; free space or choose another folder";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + ".tmp";
}

// 0 or errno. A file system without locks is used without: then two writers of one file are the
// caller's affair.
int lock_file(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    return errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP ? 0 : errno;
  }
  return 0;
}

bool is_same_file(int descriptor, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

// Opens the temporary and owns it: whoever waited for the lock may find that the holder has renamed
// the file away.
FileHandle open_temporary(const std::string& path, const std::string& temporary) {
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    FileHandle file = open_file(temporary, O_WRONLY | O_CREAT | O_NOFOLLOW);
    if (!file.is_open()) fail(path, "open " + temporary, errno, kOldIsSafe);
    const int error = lock_file(file.get());
    if (error != 0) fail(path, "lock " + temporary, error, kOldIsSafe);
    if (is_same_file(file.get(), temporary)) return file;
  }
  fail(path, "lock " + temporary, EBUSY, "another program keeps writing this file");
}

int write_pieces(int descriptor, std::span<const std::string_view> pieces) {
  if (::ftruncate(descriptor, 0) != 0) return errno;
  for (const std::string_view piece : pieces) {
    const WriteOutcome outcome = write_all(descriptor, piece);
    if (outcome.error != 0) return outcome.error;
  }
  return sync_file(descriptor);
}

}  // namespace

void write_file_atomically(const std::string& path, std::span<const std::string_view> pieces) {
  ignore_file_size_signal();
  const std::string temporary = temporary_of(path);
  FileHandle file = open_temporary(path, temporary);
  int error = write_pieces(file.get(), pieces);
  const char* step = "write";
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
    step = "rename";
  }
  if (error != 0) {
    ::unlink(temporary.c_str());  // still under the lock, so it is ours
    fail(path, step, error, kOldIsSafe);
  }
  // fsync has reported what a local disk can report; a network mount may speak up only here.
  error = file.close();
  if (error != 0)
    fail(path, "close", error,
         "the new file stands, but its bytes may be incomplete; write it again");
  const FileHandle folder = open_file(folder_of(path), O_RDONLY | O_DIRECTORY);
  error = folder.is_open() ? sync_file(folder.get()) : errno;
  if (error != 0)
    fail(path, "sync of the folder", error, "the new file stands, but a crash now may undo it");
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  write_file_atomically(path, std::span<const std::string_view>(&bytes, 1));
}

}  // namespace hearsay::runtime
