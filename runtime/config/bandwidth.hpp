// SPDX-License-Identifier: Apache-2.0
// --bandwidth: "10MiB/s", "500kB/s", or in bits "100Mb/s"; "off". Throws UsageError.
#pragma once

#include <optional>
#include <string>

namespace hearsay::runtime {

std::optional<double> parse_bandwidth(const std::string& flag, const std::string& text);  // bytes/s

}  // namespace hearsay::runtime
