// SPDX-License-Identifier: Apache-2.0
// The few system calls that log files need, with the traps handled once: EINTR, short writes,
// SIGXFSZ, errors on close. FileHandle owns one descriptor; move-only. Lane: the lane of its owner.
// Cost: the calls themselves.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hearsay::runtime {

class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) noexcept : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { close(); }

  bool is_open() const noexcept { return descriptor_ >= 0; }
  int get() const noexcept { return descriptor_; }
  int close() noexcept;  // 0 or the error number; the descriptor is gone either way

 private:
  int descriptor_ = -1;
};

// Opens with O_CLOEXEC, again after EINTR. Not open on failure: errno says why.
FileHandle open_file(const std::string& path, int flags);

struct WriteOutcome {
  std::size_t written_bytes = 0;
  int error = 0;  // errno of the call that failed; 0: everything is written
};
WriteOutcome write_all(int descriptor, std::string_view bytes) noexcept;

// Fills `bytes` from `offset_bytes` on; returns how many were there (fewer at the end of the file).
// -1: errno.
std::ptrdiff_t read_at(int descriptor, std::span<char> bytes, std::size_t offset_bytes) noexcept;

// Locks a file for its writer (flock), and waits for the lock of one that was just killed, which
// goes when the kernel has taken its memory apart: up to 2 s. False: another process holds it. A
// file system without locks is used without.
bool lock_in_time(int descriptor);

// 0 or errno. A kind of file that cannot be synced (a pipe, some network mounts) counts as synced.
int sync_file(int descriptor) noexcept;

// Makes a write beyond RLIMIT_FSIZE return EFBIG instead of killing the process. Idempotent.
void ignore_file_size_signal() noexcept;

std::string error_text(int error);  // "No space left on device"

}  // namespace hearsay::runtime
