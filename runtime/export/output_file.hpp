// SPDX-License-Identifier: Apache-2.0
// A file that is written piece by piece and is there whole or not at all: it grows as `<path>.tmp`
// and takes its name in commit(). Lane: any. Cost: a buffered stream.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace hearsay::runtime {

class OutputFile {
 public:
  // Throws UsageError when it cannot be made.
  explicit OutputFile(std::string path);
  OutputFile(OutputFile&&) = delete;
  ~OutputFile();  // without commit(): leaves nothing

  OutputFile& operator<<(std::string_view text) {
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    return *this;
  }
  const std::string& path() const noexcept { return path_; }
  // Throws a Fault (exit 1) when not everything could be written.
  void commit();

 private:
  std::string path_;
  std::ofstream out_;
  bool is_done_ = false;
};

// Finite or not, as the shortest text that reads back the same.
std::string number_text(double value);

}  // namespace hearsay::runtime
