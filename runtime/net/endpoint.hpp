// SPDX-License-Identifier: Apache-2.0
// Addresses as people type them: HOST:PORT, [IPv6]:PORT (zone ids included), :PORT for loopback.
// Pure text; nothing is resolved here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearsay::runtime {

struct Endpoint {
  std::string host;  // name, IPv4 or IPv6 without brackets
  std::uint16_t port = 0;
  std::string text() const;  // with brackets where needed
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Throws UsageError that names `flag` and says what is wrong.
Endpoint parse_endpoint(std::string_view flag, std::string_view text);

}  // namespace hearsay::runtime
