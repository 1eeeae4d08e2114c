// SPDX-License-Identifier: Apache-2.0
// The error vocabulary. Fault: an exception that ends the command with one line and an exit code
// (the table in README.md). What is expected at run time is an input to a protocol or a decision,
// not an exception.
#pragma once

#include <stdexcept>
#include <string>

namespace hearsay::kernels {

// Process exit codes. 130 and 143 (signals) are added by whoever handles the signal.
enum class ExitCode : int { ok = 0, check_failed = 1, usage = 2, lost_quorum = 3, damaged = 4 };

// Ends the command: what happened, where, and what to try, in one line.
class Fault : public std::runtime_error {
 public:
  Fault(ExitCode code, const std::string& line) : std::runtime_error(line), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

// Bad flag, key, spec or start-up: nothing was trained (exit 2).
class UsageError : public Fault {
 public:
  explicit UsageError(const std::string& line) : Fault(ExitCode::usage, line) {}
};

// A file that cannot be trusted: names the file and the offset in bytes (exit 4).
class DamagedFile : public Fault {
 public:
  DamagedFile(const std::string& path, std::size_t offset_bytes, const std::string& what)
      : Fault(ExitCode::damaged, path + ": offset " + std::to_string(offset_bytes) + ": " + what) {}
};

}  // namespace hearsay::kernels
