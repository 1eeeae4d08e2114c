// SPDX-License-Identifier: Apache-2.0
// Addresses as people type them: what is read, and what each refusal says.
#include "runtime/net/endpoint.hpp"

#include "kernels/core/errc.hpp"
#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

namespace hearsay::runtime {
namespace {

std::string refusal(const std::string& text) {
  try {
    const Endpoint read = parse_endpoint("--listen", text);
    return "read as " + read.text();
  } catch (const kernels::UsageError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("endpoints are read as people type them") {
  struct Case {
    const char* typed;
    Endpoint read;
  };
  for (const auto& [typed, read] : {
           Case{"node7:7000", {"node7", 7000}},
           Case{"10.0.0.7:0", {"10.0.0.7", 0}},
           Case{"[::1]:7000", {"::1", 7000}},
           Case{"[fe80::1%eth0]:7000", {"fe80::1%eth0", 7000}},
           Case{"[2001:db8::7]:65535", {"2001:db8::7", 65535}},
           Case{"[::]:1", {"::", 1}},
           Case{":7000", {"127.0.0.1", 7000}},
       }) {
    CAPTURE(typed);
    CHECK(parse_endpoint("--listen", typed) == read);
  }
}

TEST_CASE("an endpoint that cannot be read is refused with what is wrong") {
  struct Case {
    const char* typed;
    const char* why;
  };
  for (const auto& [typed, why] : {
           Case{"", "the port is missing"},
           Case{"node7", "the port is missing"},
           Case{"::1", "an IPv6 address needs brackets"},
           Case{"::1:7000", "an IPv6 address needs brackets"},
           Case{"fe80::1%eth0:7000", "an IPv6 address needs brackets"},
           Case{"[::1]", "the port is missing"},
           Case{"[::1]7000", "the port is missing"},
           Case{"[::1:7000", "the bracket is not closed"},
           Case{"[]:7000", "there is nothing in the brackets"},
           Case{"[[::1]:7000", "brackets go around a whole IPv6 address"},
           Case{"a]:7000", "brackets go around a whole IPv6 address"},
           Case{"node7:", "a port is a number from 0 to 65535"},
           Case{"[::1]:", "a port is a number from 0 to 65535"},
           Case{"node7:65536", "a port is a number from 0 to 65535"},
           Case{"node7:-1", "a port is a number from 0 to 65535"},
           Case{"node7:+1", "a port is a number from 0 to 65535"},
           Case{"node7: 1", "a port is a number from 0 to 65535"},
           Case{"node7:1x", "a port is a number from 0 to 65535"},
           Case{"node7:99999999999999999999", "a port is a number from 0 to 65535"},
       }) {
    CHECK(refusal(typed) ==
          "--listen: '" + std::string(typed) + "': " + why + "; write HOST:PORT or [IPv6]:PORT");
  }
}

TEST_CASE("an endpoint's text reads back as the same endpoint") {
  for (const char* typed : {"node7:7000", "[::1]:7000", "[fe80::1%eth0]:1", "127.0.0.1:0"}) {
    CHECK(parse_endpoint("--join", typed).text() == typed);
  }
  CHECK(parse_endpoint("--join", ":7000").text() == "127.0.0.1:7000");
}

TEST_CASE("any text is an endpoint or is refused") {
  constexpr std::string_view kLetters = "[]:%.0169a- \n";
  constexpr std::uint64_t kSeed = 21;
  kernels::Rng rng = kernels::Rng::stream(kSeed, "endpoint noise");
  for (int round = 0; round < 50'000; ++round) {
    std::string text(rng.below(12), ' ');
    for (char& letter : text) letter = kLetters[rng.below(kLetters.size())];
    CAPTURE(kSeed, round, text);
    try {
      const Endpoint read = parse_endpoint("--join", text);
      REQUIRE_FALSE(read.host.empty());
    } catch (const kernels::UsageError& error) {
      REQUIRE(std::string_view(error.what()).starts_with("--join: '"));
    }
  }
}

}  // namespace hearsay::runtime
