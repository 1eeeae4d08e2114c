// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/comparison.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/report/text.hpp"

namespace hearsay::runtime::report {
namespace {

// How a run was carried out, not what it was.
constexpr std::array<std::string_view, 6> kNotCompared{
    "seed", "threads", "checkpoint-every", "log-digests", "start-with", "preset"};
constexpr std::array<std::string_view, 4> kBaselines{"ddp", "fedavg", "diloco", "local"};

using Settings = std::map<std::string, std::string>;

Settings settings_of(const RunFacts& run) {
  Settings settings{{"command", run.command == "sim" ? "sim" : "live"}};
  if (run.command.empty()) settings["run"] = run.path;  // without run.json it is like no other
  for (const ConfigEntry& entry : run.config) {
    if (std::find(kNotCompared.begin(), kNotCompared.end(), entry.key) == kNotCompared.end())
      settings[entry.key] = entry.value;
  }
  return settings;
}

std::string value_of(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found != settings.end() ? found->second : "–";
}

std::string interval_text(const Estimate& interval, double scale, int digits,
                          const std::string& unit) {
  if (interval.n == 0) return "–";
  std::string text = fixed(interval.mean * scale, digits);
  if (interval.half_width) text += " ± " + fixed(*interval.half_width * scale, digits);
  return text + unit;
}

std::string label_of(const Settings& settings, const std::vector<std::string>& differing) {
  std::string label;
  for (const std::string& key : differing)
    label += (label.empty() ? "" : ", ") + key + " " + value_of(settings, key);
  return label;
}

std::string seeds_text(const Group& group) {
  std::vector<std::string> seeds;
  for (const RunFacts* run : group.runs)
    seeds.push_back(run->seed ? std::to_string(*run->seed) : "–");
  return list_text(seeds, 8);
}

const std::optional<double> Result::*time_of(const Group& group) {
  return group.runs.front()->is_virtual ? &Result::virtual_s : &Result::wall_s;
}

}  // namespace

Estimate Group::interval(const std::optional<double> Result::*member) const {
  std::vector<double> values;
  for (const RunFacts* run : runs) {
    if (run->result && (*run->result).*member) values.push_back(*((*run->result).*member));
  }
  return estimate(values);
}

Comparison compare(std::span<const RunFacts> runs) {
  Comparison comparison;
  std::vector<Settings> settings;  // of each group
  for (const RunFacts& run : runs) {
    Settings own = settings_of(run);
    const auto found = std::find(settings.begin(), settings.end(), own);
    if (found != settings.end()) {
      comparison.groups[static_cast<std::size_t>(found - settings.begin())].runs.push_back(&run);
      continue;
    }
    settings.push_back(std::move(own));
    Group group;
    group.runs.push_back(&run);
    group.is_baseline =
        std::find(kBaselines.begin(), kBaselines.end(), run.protocol) != kBaselines.end();
    comparison.groups.push_back(std::move(group));
  }
  std::set<std::string> keys;
  for (const Settings& each : settings) {
    for (const auto& [key, value] : each) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const bool differs = std::any_of(settings.begin(), settings.end(), [&](const Settings& each) {
      return value_of(each, key) != value_of(settings.front(), key);
    });
    if (differs) comparison.differing.push_back(key);
  }
  for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
    Group& group = comparison.groups[i];
    group.label = label_of(settings[i], comparison.differing);
    if (group.label.empty() || group.label.size() > 60) group.label = group.runs.front()->name;
  }
  return comparison;
}

std::string group_table(const Comparison& comparison) {
  TableText table(
      {"configuration", "runs", "seeds", "accuracy mean", "worst peer", "averaged model", "loss",
       "seconds", "wire MiB", "merges", "peers lost"},
      "Means over the runs of each configuration, ± half of the 95 % interval (Student's t)");
  constexpr double kMiB = 1.0 / (1024.0 * 1024.0);
  for (const Group& group : comparison.groups) {
    table.row({group.label, std::to_string(group.runs.size()), seeds_text(group),
               interval_text(group.interval(&Result::accuracy_mean), 100, 2, " %"),
               interval_text(group.interval(&Result::accuracy_min), 100, 2, " %"),
               interval_text(group.interval(&Result::accuracy_averaged), 100, 2, " %"),
               interval_text(group.interval(&Result::loss_mean), 1, 4, ""),
               interval_text(group.interval(time_of(group)), 1, 2, ""),
               interval_text(group.interval(&Result::wire_bytes), kMiB, 1, ""),
               interval_text(group.interval(&Result::merges_applied), 1, 0, ""),
               interval_text(group.interval(&Result::peers_lost), 1, 1, "")});
  }
  return std::move(table).finish();
}

std::string difference_table(const Comparison& comparison) {
  if (comparison.differing.empty()) return {};
  std::vector<std::string> columns{"option"};
  std::vector<Settings> settings;
  for (const Group& group : comparison.groups) {
    columns.push_back(group.runs.front()->name + (group.runs.size() > 1 ? ", …" : ""));
    settings.push_back(settings_of(*group.runs.front()));
  }
  TableText table(columns, "Configuration: only what differs");
  for (const std::string& key : comparison.differing) {
    std::vector<std::string> cells{key};
    for (const Settings& each : settings) cells.push_back(value_of(each, key));
    table.row(cells);
  }
  return std::move(table).finish();
}

std::string comparison_finding(const Comparison& comparison) {
  const Group* best = nullptr;
  const Group* second = nullptr;
  for (const Group& group : comparison.groups) {
    if (group.interval(&Result::accuracy_mean).n == 0) continue;
    const double accuracy = group.interval(&Result::accuracy_mean).mean;
    if (best == nullptr || accuracy > best->interval(&Result::accuracy_mean).mean) {
      second = best;
      best = &group;
    } else if (second == nullptr || accuracy > second->interval(&Result::accuracy_mean).mean) {
      second = &group;
    }
  }
  if (best == nullptr) return "None of these runs has a result yet.";
  const Estimate first = best->interval(&Result::accuracy_mean);
  std::string text =
      "Highest mean accuracy: " + best->label + ", " + interval_text(first, 100, 2, " %");
  if (second == nullptr) return text + ".";
  const Estimate next = second->interval(&Result::accuracy_mean);
  text += "; next: " + second->label + ", " + interval_text(next, 100, 2, " %") + ".";
  if (!first.half_width || !next.half_width)
    return text +
           " Of a single run there is no interval: with more seeds the page could say whether that "
           "is chance.";
  const bool overlap = first.mean - *first.half_width <= next.mean + *next.half_width;
  return text + (overlap ? " Their 95 % intervals overlap." : " Their 95 % intervals are apart.");
}

}  // namespace hearsay::runtime::report
