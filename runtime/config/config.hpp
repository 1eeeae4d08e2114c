// SPDX-License-Identifier: Apache-2.0
// Merges flag > environment > --config file > preset > default into one text and one origin per
// option, then into the typed RunConfig. Checks here are those of form (counts, ranges, known
// modes); whether a named part exists is asked of the catalog (runtime/app/catalog.hpp) or of
// whoever builds it. Invariant: Settings holds every option of the table.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/config/command_line.hpp"
#include "runtime/config/run_config.hpp"

namespace hearsay::runtime {

using Environment = std::map<std::string, std::string>;
Environment process_environment();  // a copy of all of it

struct Setting {
  std::vector<std::string> values;  // one text; a repeatable option may have several
  // "flag", "environment HEARSAY_PEERS", "file pool.json", "preset digits" or "default"
  std::string origin;

  std::string text() const;  // several texts are joined by "; "
};

class Settings {
 public:
  // `name` must be an option of the table.
  const Setting& at(std::string_view name) const;
  std::string text(std::string_view name) const { return at(name).text(); }
  const std::string& origin(std::string_view name) const { return at(name).origin; }
  void set(std::string_view name, std::vector<std::string> values, std::string origin);

 private:
  std::map<std::string, Setting, std::less<>> settings_;
};

// Flags that are not in the table (a command's own) are left alone. Throws UsageError.
Settings merge_settings(const Arguments& arguments, const Environment& environment);
// With these texts in the place of a --config file's.
Settings merge_settings(const Arguments& arguments, const Environment& environment,
                        const std::map<std::string, std::vector<std::string>>& file,
                        const std::string& origin);

// The configuration of a run that is resumed: that of its run.json. Flags and environment may give
// the options named, and those that are about this call only, another text; any other that says
// something else is refused by name. Throws UsageError.
Settings resume_settings(const Arguments& arguments, const Environment& environment,
                         const std::string& run_dir, const std::string& run_json,
                         const std::vector<std::string_view>& may_change);

// HEARSAY_DATA is both the spec of --data and, as a folder, where data files lie; true when it
// names a folder.
bool is_data_folder(std::string_view text);

// The typed form. Throws UsageError naming the option, the text and, when it was no flag, its
// origin.
RunConfig typed_config(const Settings& settings);

// Calls `build`, which reads what an option's text means. A UsageError that names an option at its
// start is thrown on with the text's origin when that was no flag: "--merge: unknown merge rule
// 'emma' (from file pool.json)".
void with_origins(const Settings& settings, const std::function<void()>& build);

// {"merge-every": {"value": "1", "origin": "default"}, ...}: the "config" object of run.json.
// Options that are about this call only (--run, --config, --json, --quiet, --dry-run) are left out,
// so that the file repeats the run anywhere.
nlohmann::ordered_json config_json(const Settings& settings);

}  // namespace hearsay::runtime
