// SPDX-License-Identifier: Apache-2.0
#include "runtime/study/study_table.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

namespace hearsay::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string cell(const Estimate& value, const StudyMeasure& measure) {
  if (value.n == 0) return "-";
  std::string text = number(value.mean * measure.scale, measure.digits);
  if (value.half_width) text += " +-" + number(*value.half_width * measure.scale, measure.digits);
  return text;
}

}  // namespace

StudyTable study_table(const Study& study, const std::vector<StudyResult>& results) {
  StudyTable table;
  std::copy_if(study.keys.begin(), study.keys.end(), std::back_inserter(table.keys),
               [](const std::string& key) { return key != "seed"; });
  std::map<std::string, const StudyResult*> by_name;
  for (const StudyResult& result : results) by_name[result.name] = &result;
  std::map<std::vector<std::string>, std::size_t> row_of;
  std::vector<std::vector<std::vector<double>>> values;  // [row][measure]
  for (const StudyPoint& point : study.points) {
    const auto found = by_name.find(point.name);
    if (found == by_name.end()) continue;
    std::vector<std::string> key;
    for (const auto& [name, text] : point.varied) {
      if (name != "seed") key.push_back(text);
    }
    const auto [row, is_new] = row_of.emplace(key, table.rows.size());
    if (is_new) {
      table.rows.push_back({key, 0, 0, {}});
      values.emplace_back(std::size(kStudyMeasures));
    }
    StudyRow& at = table.rows[row->second];
    ++at.runs;
    at.failed += found->second->failure.empty() ? 0 : 1;
    if (!found->second->result) continue;
    for (std::size_t m = 0; m < std::size(kStudyMeasures); ++m) {
      const auto value = found->second->result->find(kStudyMeasures[m].key);
      if (value != found->second->result->end() && value->is_number())
        values[row->second][m].push_back(value->get<double>());
    }
  }
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (const auto& measured : values[r]) table.rows[r].measures.push_back(estimate(measured));
  }
  return table;
}

std::string study_text(const StudyTable& table) {
  std::vector<std::vector<std::string>> columns;
  for (std::size_t k = 0; k < table.keys.size(); ++k) {
    columns.push_back({table.keys[k]});
    for (const StudyRow& row : table.rows) columns.back().push_back(row.values[k]);
  }
  columns.push_back({"runs"});
  for (const StudyRow& row : table.rows) columns.back().push_back(std::to_string(row.runs));
  for (std::size_t m = 0; m < std::size(kStudyMeasures); ++m) {
    if (std::none_of(table.rows.begin(), table.rows.end(),
                     [&](const StudyRow& row) { return row.measures[m].n > 0; }))
      continue;
    columns.push_back({kStudyMeasures[m].title});
    for (const StudyRow& row : table.rows)
      columns.back().push_back(cell(row.measures[m], kStudyMeasures[m]));
  }
  columns.push_back({"failed"});
  for (const StudyRow& row : table.rows) columns.back().push_back(std::to_string(row.failed));
  std::string text;
  for (std::size_t line = 0; line <= table.rows.size(); ++line) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::size_t width = 0;
      for (const std::string& each : columns[c]) width = std::max(width, each.size());
      const std::string& here = columns[c][line];
      const std::string gap(width - here.size(), ' ');
      const bool is_key = c < table.keys.size();
      text += (c == 0 ? "" : "  ") + (is_key ? here + gap : gap + here);
    }
    text += "\n";
  }
  return text;
}

Json study_json(const StudyTable& table) {
  Json rows = Json::array();
  for (const StudyRow& row : table.rows) {
    Json j;
    for (std::size_t k = 0; k < table.keys.size(); ++k) j[table.keys[k]] = row.values[k];
    j["runs"] = row.runs;
    j["failed"] = row.failed;
    for (std::size_t m = 0; m < row.measures.size(); ++m) {
      const Estimate& e = row.measures[m];
      if (e.n == 0) continue;
      j[kStudyMeasures[m].key] = {{"n", e.n}, {"mean", e.mean}};
      if (e.half_width) j[kStudyMeasures[m].key]["half_width_95"] = *e.half_width;
    }
    rows.push_back(std::move(j));
  }
  return rows;
}

}  // namespace hearsay::runtime
