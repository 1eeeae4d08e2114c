// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/held_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {

HeldOutput::HeldOutput() : file_(std::tmpfile()) {
  if (!file_)
    throw kernels::UsageError(std::string("temporary file for the output of a peer: ") +
                              std::strerror(errno));
  fcntl(fileno(file_.get()), F_SETFD, FD_CLOEXEC);
}

HeldOutput::~HeldOutput() { flush(); }

std::string HeldOutput::path() const {
  return "/proc/self/fd/" + std::to_string(fileno(file_.get()));
}

void HeldOutput::flush() noexcept {
  if (kept_in_.empty()) return;
  std::array<char, 4096> buffer;
  ssize_t got = ::pread(fileno(file_.get()), buffer.data(), buffer.size(), copied_bytes_);
  if (got <= 0 && copied_bytes_ > 0) return;
  const int kept = ::open(kept_in_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  while (kept >= 0 && got > 0 &&
         ::write(kept, buffer.data(), static_cast<std::size_t>(got)) == got) {
    copied_bytes_ += got;
    got = ::pread(fileno(file_.get()), buffer.data(), buffer.size(), copied_bytes_);
  }
  if (kept >= 0) ::close(kept);
}

}  // namespace hearsay::runtime
