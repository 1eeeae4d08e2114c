// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/study_table.hpp"

#include "tests/catch.hpp"

using namespace hearsay::runtime;

TEST_CASE("seeds become one row, and a run without a result is counted as failed") {
  const Study study =
      parse_study(R"({"vary": {"merge-every": [1, 2], "seed": [0, 1, 2]}})", "s.json");
  std::vector<StudyResult> results;
  for (std::size_t i = 0; i < 5; ++i) {
    StudyResult result{study.points[i].name, "", nlohmann::ordered_json::object(), {}};
    (*result.result)["test_acc_mean"] = 0.8 + 0.01 * static_cast<double>(i);
    results.push_back(result);
  }
  results.push_back({study.points[5].name, "", std::nullopt, "killed by signal 9"});
  const StudyTable table = study_table(study, results);
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].runs == 3);
  CHECK(table.rows[0].measures[0].mean == Approx(0.81));
  CHECK(table.rows[1].failed == 1);
  CHECK(table.rows[1].measures[0].n == 2);
  CHECK(study_text(table) ==
        "merge-every  runs         acc_%  failed\n"
        "1               3  81.00 +-2.48       0\n"
        "2               3  83.50 +-6.35       1\n");
  CHECK(study_json(table)[1]["test_acc_mean"]["n"] == 2);
}
