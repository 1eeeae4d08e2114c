// SPDX-License-Identifier: Apache-2.0
// Reads a config file: JSON with the words of the flags as keys, // comments allowed, specs as text
// or as objects. The run.json of an earlier run is one too: its "config" object is used. Everything
// comes out as text, as if typed. Nothing in a file is ignored: unknown keys, keys given twice and
// values of the wrong kind are refused.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace hearsay::runtime {

inline constexpr std::size_t kMaxConfigBytes = 1 << 20;

using OptionTexts =
    std::map<std::string, std::vector<std::string>>;  // option -> texts (one, unless repeatable)

// Throws UsageError naming the file, and line and column where the text is not JSON.
OptionTexts read_config_file(const std::string& path);  // of --config
// `option` names the flag in what is said of files that cannot be read.
OptionTexts read_config_file(const std::string& path, const std::string& option);
// The file's text, of kMaxConfigBytes at most; and as JSON with comments, no key given twice.
std::string read_config_text(const std::string& path, const std::string& option);
nlohmann::ordered_json parse_config_json(const std::string& text, const std::string& path);
OptionTexts parse_config_text(const std::string& text, const std::string& path);

}  // namespace hearsay::runtime
