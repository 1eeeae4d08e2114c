// SPDX-License-Identifier: Apache-2.0
// Holds a log made again against the one recorded, by peer and line number, so that a hole or a
// damaged line costs itself alone. Cost: both logs once; memory for the recorded one's lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime {

class LogComparison {
 public:
  // Reads the recorded log, or its first `most_bytes` bytes. A file that cannot be read at all is
  // one line of damage.
  explicit LogComparison(const std::string& path,
                         std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

  // A line made again, without its end of line. False when the recorded one is another.
  bool compare(std::string_view line);
  // After the last line: counts what was recorded and never made again.
  void finish();

  std::uint64_t equal() const noexcept { return equal_; }
  std::uint64_t missing() const noexcept { return missing_; }  // made again, not in the log
  const std::vector<std::string>& differences() const noexcept { return differences_; }
  const std::vector<std::string>& damage() const noexcept { return damage_; }

 private:
  static constexpr std::size_t kMost = 5;                                           // lines named
  std::map<std::string, std::map<std::uint64_t, std::string>, std::less<>> lines_;  // [peer][n]
  std::uint64_t equal_ = 0, missing_ = 0;
  std::vector<std::string> differences_, damage_;
};

}  // namespace hearsay::runtime
