// SPDX-License-Identifier: Apache-2.0
#include "runtime/log/json_text.hpp"
#include "runtime/log/json_nesting.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/core/rng.hpp"
#include "tests/catch.hpp"

using namespace hearsay::runtime;
using hearsay::kernels::Rng;

namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string number(double value) {
  std::string out;
  append_json_double(out, value);
  return out;
}

}  // namespace

TEST_CASE("json strings are escaped and read back", "[log]") {
  CHECK(json_of("plain") == "\"plain\"");
  CHECK(json_of("a\"b\\c\n\r\t\x01") == R"("a\"b\\c\n\r\t\u0001")");
  CHECK(json_of("Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x90\x9D") ==
        "\"Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x90\x9D\"");
  const std::string with_nul("a\0b", 3);
  CHECK(nlohmann::json::parse(json_of(with_nul)).get<std::string>() == with_nul);
}

TEST_CASE("malformed UTF-8 becomes the replacement character", "[log]") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(json_of("a\xFFz") == "\"a" + bad + "z\"");
  CHECK(json_of("\xC0\xAF") == "\"" + bad + bad + "\"");            // overlong
  CHECK(json_of("\xED\xA0\x80") == "\"" + bad + bad + bad + "\"");  // surrogate
  CHECK(json_of("\xF4\x90\x80\x80") == "\"" + bad + bad + bad + bad + "\"");
  CHECK(json_of("\xE2\x82") == "\"" + bad + bad + "\"");  // cut off
}

TEST_CASE("any bytes give valid json text", "[log]") {
  Rng rng = Rng::stream(11, "json bytes");  // seed 11
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(rng.below(12), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.below(256));
    REQUIRE(nlohmann::json::accept(json_of(bytes)));
  }
}

TEST_CASE("doubles are shortest and round-trip", "[log]") {
  CHECK(number(0.1) == "0.1");
  CHECK(number(1.0) == "1");
  CHECK(number(-0.0) == "-0.0");
  CHECK(number(1e300) == "1e+300");
  CHECK(number(std::nan("")) == "\"nan\"");
  CHECK(number(std::numeric_limits<double>::infinity()) == "\"inf\"");
  CHECK(number(-std::numeric_limits<double>::infinity()) == "\"-inf\"");
  Rng rng = Rng::stream(12, "json doubles");  // seed 12
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t bits = rng.next_u64();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    CAPTURE(value);
    REQUIRE(nlohmann::json::parse(number(value)).get<double>() == value);
  }
}

TEST_CASE("integers and arrays keep every digit", "[log]") {
  std::string out = "{";
  append_json_key(out, "lowest");
  append_json_int(out, std::numeric_limits<std::int64_t>::min());
  append_json_key(out, "highest");
  append_json_uint(out, std::numeric_limits<std::uint64_t>::max());
  append_json_key(out, "list");
  append_json_field(out, std::vector<std::int64_t>{1, -2, 3});
  append_json_key(out, "none");
  append_json_field(out, std::vector<std::int64_t>{});
  append_json_key(out, "yes");
  append_json_field(out, true);
  out += "}";
  CHECK(out == R"({"lowest":-9223372036854775808,"highest":18446744073709551615,)"
               R"("list":[1,-2,3],"none":[],"yes":true})");
}

TEST_CASE("brackets count as nesting outside of strings only") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  CHECK_FALSE(nests_too_deeply(nested(kMostJsonNesting)));
  CHECK(nests_too_deeply(nested(kMostJsonNesting + 1)));
  CHECK(nests_too_deeply(std::string(1'000, '{')));
  CHECK_FALSE(nests_too_deeply("[\"" + std::string(1'000, '[') + "\\\"[\"]"));
  CHECK(nests_too_deeply("[\"\\\\\"," + nested(kMostJsonNesting) + "]"));
  std::string wide = "[";
  for (int i = 0; i < 1'000; ++i) wide += "[],{},";
  CHECK_FALSE(nests_too_deeply(wide + "1]"));
}
