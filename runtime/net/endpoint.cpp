// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/endpoint.hpp"

#include <charconv>

#include "kernels/core/errc.hpp"

namespace hearsay::runtime {
namespace {

[[noreturn]] void refuse(std::string_view flag, std::string_view text, const std::string& why) {
  throw kernels::UsageError(std::string(flag) + ": '" + std::string(text) + "': " + why +
                            "; write HOST:PORT or [IPv6]:PORT");
}

}  // namespace

std::string Endpoint::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Endpoint parse_endpoint(std::string_view flag, std::string_view text) {
  std::string_view host, port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse(flag, text, "the bracket is not closed");
    host = text.substr(1, end - 1);
    if (host.empty()) refuse(flag, text, "there is nothing in the brackets");
    if (end + 1 >= text.size() || text[end + 1] != ':') refuse(flag, text, "the port is missing");
    port = text.substr(end + 2);
  } else {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) refuse(flag, text, "the port is missing");
    host = text.substr(0, colon);
    if (host.find(':') != std::string_view::npos)
      refuse(flag, text, "an IPv6 address needs brackets");
    port = text.substr(colon + 1);
  }
  if (host.find_first_of("[]") != std::string_view::npos)
    refuse(flag, text, "brackets go around a whole IPv6 address");
  std::uint16_t number = 0;
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || rest != port.data() + port.size())
    refuse(flag, text, "a port is a number from 0 to 65535");
  return {host.empty() ? "127.0.0.1" : std::string(host), number};
}

}  // namespace hearsay::runtime
