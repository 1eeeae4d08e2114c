// SPDX-License-Identifier: Apache-2.0
// What a peer announces: never a wildcard, never port 0, loopback only when there is nothing else.
#include "runtime/net/own_address.hpp"

#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

const std::vector<std::string> kTwoFamilies{"127.0.0.1", "::1", "fd00::2", "192.0.2.2",
                                            "192.0.2.3"};
const std::vector<std::string> kLoopbackOnly{"127.0.0.1", "::1"};

std::string announced(const std::string& listening, const std::vector<std::string>& machine,
                      const char* asked = nullptr) {
  std::optional<Endpoint> announce;
  if (asked != nullptr) announce = parse_endpoint("--announce", asked);
  return announced_address(announce, parse_endpoint("--listen", listening), machine).text();
}

}  // namespace

TEST_CASE("hosts are told apart by what they lead to") {
  for (const char* host : {"127.0.0.1", "127.9.8.7", "::1", "localhost", "::ffff:127.0.0.1"})
    CHECK(is_loopback(host));
  for (const char* host :
       {"192.0.2.2", "fd00::2", "fe80::1%eth0", "n1.example", "0.0.0.0", "::", ""})
    CHECK_FALSE(is_loopback(host));
  CHECK(is_wildcard("0.0.0.0"));
  CHECK(is_wildcard("::"));
  CHECK(is_wildcard("0:0::0"));
  CHECK_FALSE(is_wildcard("::1"));
  CHECK_FALSE(is_wildcard("n1"));
  CHECK(is_ipv6("fe80::1%eth0"));
  CHECK_FALSE(is_ipv6("192.0.2.2"));
  CHECK_FALSE(is_ipv6("n1"));
}

TEST_CASE("a specific listening address is announced as it is") {
  CHECK(announced("127.0.0.1:7400", kTwoFamilies) == "127.0.0.1:7400");
  CHECK(announced("192.0.2.3:7400", kTwoFamilies) == "192.0.2.3:7400");
  CHECK(announced("[fe80::1%eth0]:7400", kTwoFamilies) == "[fe80::1%eth0]:7400");
}

TEST_CASE("a wildcard announces the first address of its family that others can reach") {
  CHECK(announced("0.0.0.0:7400", kTwoFamilies) == "192.0.2.2:7400");
  CHECK(announced("[::]:7400", kTwoFamilies) == "[fd00::2]:7400");
  CHECK(announced("[::]:7400", {"::1", "192.0.2.2"}) == "192.0.2.2:7400");  // it takes both
  CHECK(announced("0.0.0.0:7400", {"127.0.0.1", "fd00::2"}) == "127.0.0.1:7400");
  CHECK(announced("0.0.0.0:7400", kLoopbackOnly) == "127.0.0.1:7400");
  CHECK(announced("[::]:7400", kLoopbackOnly) == "[::1]:7400");
  CHECK(announced("0.0.0.0:7400", {}) == "127.0.0.1:7400");
}

TEST_CASE("what is asked for goes first, with the real port when it names none") {
  CHECK(announced("0.0.0.0:7400", kTwoFamilies, "relay.example:9000") == "relay.example:9000");
  CHECK(announced("0.0.0.0:7400", kTwoFamilies, "n1:0") == "n1:7400");
}

TEST_CASE("a machine that does not speak the other's family says so") {
  const std::vector<std::string> v4{"127.0.0.1", "::1", "192.0.2.2"}, v6{"::1", "fd00::2"};
  CHECK(family_fault("fd00::9", v4) == "an IPv6 address, and this machine has IPv4 only");
  CHECK(family_fault("192.0.2.9", v6) == "an IPv4 address, and this machine has IPv6 only");
  CHECK(family_fault("192.0.2.9", kLoopbackOnly) ==
        "an IPv4 address, and this machine has loopback only");
  for (const char* host : {"192.0.2.9", "fd00::9"}) CHECK(family_fault(host, kTwoFamilies).empty());
  for (const char* host : {"127.0.0.1", "::1", "fe80::1%eth0", "n1"})
    CHECK(family_fault(host, v4).empty());
}

TEST_CASE("the addresses of this machine are numeric and hold beyond one cable") {
  for (const std::string& host : machine_addresses()) {
    CHECK(host.find('%') == std::string::npos);
    CHECK((is_ipv6(host) || host.find_first_not_of("0123456789.") == std::string::npos));
  }
}

}  // namespace hearsay::runtime
