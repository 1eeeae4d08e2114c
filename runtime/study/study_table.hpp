// SPDX-License-Identifier: Apache-2.0
// What a study found: its points without their seeds, and over the seeds the mean of each measure
// with the half width of its 95 % confidence interval (Student's t). Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/study/estimate.hpp"
#include "runtime/study/study_file.hpp"
#include "runtime/study/study_runner.hpp"

namespace hearsay::runtime {

struct StudyRow {
  std::vector<std::string> values;  // of StudyTable::keys
  std::size_t runs = 0, failed = 0;
  std::vector<Estimate> measures;  // of kStudyMeasures; runs that lack one are left out of it
};
struct StudyTable {
  std::vector<std::string> keys;  // that vary, without seed
  std::vector<StudyRow> rows;     // in the order of the points
};

struct StudyMeasure {
  const char* key;    // of result.json
  const char* title;  // of a column
  double scale;       // from the key's unit to the column's
  int digits;
};
inline constexpr StudyMeasure kStudyMeasures[]{
    {"test_acc_mean", "acc_%", 100.0, 2},       {"test_acc_min", "worst_%", 100.0, 2},
    {"virtual_s", "virtual_s", 1.0, 3},         {"target_reached_s", "target_s", 1.0, 3},
    {"payload_bytes", "sent_MB", 1e-6, 1},      {"merges_applied", "merges", 1.0, 0},
    {"consensus_distance", "consensus", 1.0, 5}};

StudyTable study_table(const Study& study, const std::vector<StudyResult>& results);
// Columns with units; measures that no run has are left out.
std::string study_text(const StudyTable& table);
nlohmann::ordered_json study_json(const StudyTable& table);

}  // namespace hearsay::runtime
