// SPDX-License-Identifier: Apache-2.0
// Which address a peer tells others. Addresses are numeric texts here, as the system writes them;
// whatever is no numeric address counts as a name that may lead anywhere. Pure functions but one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/endpoint.hpp"

namespace hearsay::runtime {

bool is_loopback(std::string_view host);  // "localhost" as well
bool is_wildcard(std::string_view host);  // 0.0.0.0, ::
bool is_ipv6(std::string_view host);      // a numeric one

// Addresses of this machine's interfaces that are up, in the system's order; without those that
// hold on one cable only (IPv6 link-local). Asks the system.
std::vector<std::string> machine_addresses();

// What others are told to dial: what was `asked` for (--announce); else the listening address if it
// is a specific one; else the first of `machine` that is not loopback, in the family of the
// wildcard ("::" takes both, IPv6 first); else loopback. Port 0 is the listening port.
Endpoint announced_address(const std::optional<Endpoint>& asked, const Endpoint& listening,
                           const std::vector<std::string>& machine);

// Why this machine cannot dial `host` at all; empty when nothing speaks against it.
std::string family_fault(std::string_view host, const std::vector<std::string>& machine);

}  // namespace hearsay::runtime
