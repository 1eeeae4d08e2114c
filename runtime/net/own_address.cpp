// SPDX-License-Identifier: Apache-2.0
#include "runtime/net/own_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>

namespace hearsay::runtime {
namespace {

// Numeric, without its zone.
std::optional<in6_addr> as_ipv6(std::string_view host) {
  const std::string text(host.substr(0, host.find('%')));
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1 ? std::optional(address) : std::nullopt;
}

std::optional<in_addr> as_ipv4(std::string_view host) {
  in_addr address{};
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 ? std::optional(address)
                                                                      : std::nullopt;
}

// Of one interface's address; empty when it is of no use to others.
std::string numeric(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size()) ? text.data() : "";
  }
  if (address->sa_family != AF_INET6) return {};
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) return {};
  return inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size()) ? text.data() : "";
}

}  // namespace

bool is_ipv6(std::string_view host) { return as_ipv6(host).has_value(); }

bool is_loopback(std::string_view host) {
  if (const auto v6 = as_ipv6(host))
    return IN6_IS_ADDR_LOOPBACK(&*v6) || (IN6_IS_ADDR_V4MAPPED(&*v6) && v6->s6_addr[12] == 127);
  if (const auto v4 = as_ipv4(host)) return ntohl(v4->s_addr) >> 24 == 127;
  return host == "localhost";
}

bool is_wildcard(std::string_view host) {
  if (const auto v6 = as_ipv6(host)) return IN6_IS_ADDR_UNSPECIFIED(&*v6);
  const auto v4 = as_ipv4(host);
  return v4 && v4->s_addr == INADDR_ANY;
}

std::vector<std::string> machine_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0) continue;
    std::string text = numeric(each->ifa_addr);
    if (!text.empty()) addresses.push_back(std::move(text));
  }
  return addresses;
}

Endpoint announced_address(const std::optional<Endpoint>& asked, const Endpoint& listening,
                           const std::vector<std::string>& machine) {
  if (asked) return {asked->host, asked->port != 0 ? asked->port : listening.port};
  if (!is_wildcard(listening.host)) return listening;
  const auto first = [&](bool ipv6) {
    return std::find_if(machine.begin(), machine.end(), [&](const std::string& host) {
      return !is_loopback(host) && is_ipv6(host) == ipv6;
    });
  };
  const bool both = is_ipv6(listening.host);
  auto found = first(both);
  if (both && found == machine.end()) found = first(false);
  if (found != machine.end()) return {*found, listening.port};
  return {both ? "::1" : "127.0.0.1", listening.port};
}

std::string family_fault(std::string_view host, const std::vector<std::string>& machine) {
  if (is_loopback(host) || (!is_ipv6(host) && !as_ipv4(host))) return {};
  const bool ipv6 = is_ipv6(host);
  if (ipv6 && host.find('%') != std::string_view::npos) return {};  // not among `machine`
  const bool is_there = std::any_of(machine.begin(), machine.end(), [&](const std::string& own) {
    return !is_loopback(own) && is_ipv6(own) == ipv6;
  });
  if (is_there) return {};
  const bool alone = std::all_of(machine.begin(), machine.end(),
                                 [](const std::string& own) { return is_loopback(own); });
  const std::string has = alone ? "loopback" : ipv6 ? "IPv4" : "IPv6";
  return std::string(ipv6 ? "an IPv6" : "an IPv4") + " address, and this machine has " + has +
         " only";
}

}  // namespace hearsay::runtime
