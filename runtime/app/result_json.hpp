// SPDX-License-Identifier: Apache-2.0
// The flat vocabulary in which every command that ends a run reports it: result.json, --json, and
// the closing block.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "runtime/host/pool_result.hpp"

namespace hearsay::runtime {

nlohmann::ordered_json result_json(const PoolResult& result);

// "verdict ok (7 of 8 peers, 1 lost)" and the lines around it; at most 100 columns for usual run
// names.
std::string closing_block(const PoolResult& result, const RunConfig& config,
                          const std::string& run_dir);

std::string human_bytes(double bytes);  // "38.2 MiB"

}  // namespace hearsay::runtime
