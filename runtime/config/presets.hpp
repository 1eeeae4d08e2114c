// SPDX-License-Identifier: Apache-2.0
// Small named scenarios (--preset): a handful of option texts that stand between the config file
// and the defaults.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace hearsay::runtime {

struct Preset {
  std::string_view name;
  std::string_view summary;
  std::vector<std::pair<std::string_view, std::string_view>> values;  // option, text
};

const std::vector<Preset>& presets();

// Throws UsageError with the nearest name.
const Preset& find_preset(std::string_view name);

}  // namespace hearsay::runtime
