// SPDX-License-Identifier: Apache-2.0
// A study: a base configuration and what varies, as {"base": {...}, "vary": {"merge-every": [1, 2],
// "seed": [0, 1, 2]}}. Its points are all combinations, the last key fastest. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {

inline constexpr std::size_t kMostStudyPoints = 100'000;

struct StudyPoint {
  std::string name;  // "merge-every=2,seed=1", usable as a file name, unique in its study
  nlohmann::ordered_json config;                            // base and the values of this point
  std::vector<std::pair<std::string, std::string>> varied;  // key and value as text, in file order
};

struct Study {
  std::vector<std::string> keys;  // that vary
  std::vector<StudyPoint> points;
};

// Throws UsageError naming the file: not JSON, other keys than base and vary, keys that are no
// options, an empty list, more points than kMostStudyPoints.
Study read_study(const std::string& path);
Study parse_study(const std::string& text, const std::string& path);

}  // namespace hearsay::runtime
