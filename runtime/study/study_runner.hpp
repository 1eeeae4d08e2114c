// SPDX-License-Identifier: Apache-2.0
// Runs the points of a study as processes `hearsay sim`, one a thread, several at a time. A point
// whose run has come to an end is not run again; what was cut off is begun anew. Result: the
// result.json of every point. Lane: main. Cost: a poll of the children every 20 ms.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/study/study_file.hpp"

namespace hearsay::runtime {

struct StudyOptions {
  std::string program;                // of the children
  std::string folder;                 // runs and configurations of the points
  std::vector<std::string> flags;     // of the call, handed on
  std::size_t jobs = 1;               // at a time
  std::function<bool()> interrupted;  // true: children are told to stop, and waited for
};

struct StudyResult {
  std::string name, run;
  std::optional<nlohmann::ordered_json> result;  // result.json; none: it wrote none
  std::string failure;                           // one line, when the verdict is not ok
};

struct StudyProgress {
  std::size_t done = 0, of = 0, failed = 0;
  double left_s = 0.0;  // NaN before the first run has ended
};

class StudyRunner {
 public:
  StudyRunner(const Study& study, StudyOptions options);

  // Writes each point's configuration to FOLDER/points. Throws UsageError when the folder holds a
  // point of that name with another configuration.
  void prepare();
  // The words of a point's command line after the program.
  std::vector<std::string> words(const StudyPoint& point) const;
  // In the order of the points; those not begun when it was interrupted are left out.
  std::vector<StudyResult> run(const std::function<void(const StudyProgress&)>& progress);

 private:
  std::string config_path(const StudyPoint& point) const;
  std::string run_path(const StudyPoint& point) const;
  std::optional<StudyResult> finished(const StudyPoint& point) const;

  const Study& study_;
  StudyOptions options_;
};

}  // namespace hearsay::runtime
