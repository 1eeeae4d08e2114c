// SPDX-License-Identifier: Apache-2.0
#include "runtime/export/output_file.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "kernels/core/errc.hpp"
#include "runtime/log/posix_file.hpp"

namespace hearsay::runtime {

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  errno = 0;
  out_.open(path_ + ".tmp", std::ios::binary | std::ios::trunc);
  if (!out_) throw kernels::UsageError(path_ + ": cannot be written: " + error_text(errno));
}

OutputFile::~OutputFile() {
  if (is_done_) return;
  out_.close();
  std::remove((path_ + ".tmp").c_str());
}

void OutputFile::commit() {
  errno = 0;
  out_.close();
  if (!out_ || std::rename((path_ + ".tmp").c_str(), path_.c_str()) != 0) {
    throw kernels::Fault(
        kernels::ExitCode::check_failed,
        path_ + ": writing it failed (" + (errno == 0 ? "disk full?" : error_text(errno)) + ")");
  }
  is_done_ = true;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

}  // namespace hearsay::runtime
