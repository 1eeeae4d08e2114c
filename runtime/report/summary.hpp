// SPDX-License-Identifier: Apache-2.0
// What a report found, for programs: summary.json, and what --json prints. Keys of result.json keep
// their names. Lane: any (pure).
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "runtime/report/page.hpp"

namespace hearsay::runtime::report {

nlohmann::ordered_json summary_of(const Report& report, std::span<const RunFacts> runs,
                                  const std::string& page);

}  // namespace hearsay::runtime::report
