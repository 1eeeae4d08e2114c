// SPDX-License-Identifier: Apache-2.0
#include "gossip/examples/example.hpp"

#include <cmath>
#include <cstring>

#include "tests/catch.hpp"

using namespace hearsay::gossip;
using hearsay::merge::Packed;

namespace {

constexpr ExampleShape kShape{.values = 3, .classes = 10, .examples = 1000, .peers = 16};

Example example(std::uint32_t id) {
  Example e;
  e.id = id;
  e.label = 7;
  e.hops = 300;
  e.visitors = {0x8001, 1};
  e.opinions[2] = {15, 0.25f};
  e.opinions[3] = {0, 1.0f};
  e.image = {0, 128, 255};
  return e;
}

// The list with one byte changed.
bool reads(const Packed& bytes, std::size_t at, std::uint8_t value) {
  Packed changed = bytes;
  changed.bytes[at] = value;
  return decode(changed, kShape, 64).has_value();
}

}  // namespace

TEST_CASE("examples read back as they were written, 56 bytes each beside the image") {
  const auto bytes = encode({example(3), example(999)}, kShape);
  REQUIRE(bytes->bytes.size() == 2 * 59);
  const auto back = decode(*bytes, kShape, 64);
  REQUIRE(back);
  REQUIRE(back->size() == 2);
  const Example& e = (*back)[1];
  CHECK(e.id == 999);
  CHECK(e.label == 7);
  CHECK(e.hops == 300);
  CHECK(e.visitors == example(0).visitors);
  CHECK(e.opinions == example(0).opinions);
  CHECK(e.image == example(0).image);
}

TEST_CASE("lists of examples that cannot be are refused") {
  const auto bytes = encode({example(3), example(4)}, kShape);
  CHECK_FALSE(decode(Packed{}, kShape, 64));
  CHECK_FALSE(decode(*bytes, kShape, 1));
  Packed shorter = *bytes, longer = *bytes;
  shorter.bytes.pop_back();
  longer.bytes.push_back(0);
  CHECK_FALSE(decode(shorter, kShape, 64));
  CHECK_FALSE(decode(longer, kShape, 64));
  CHECK(reads(*bytes, 58, 77));          // a pixel
  CHECK_FALSE(reads(*bytes, 0, 4));      // the id of the second
  CHECK_FALSE(reads(*bytes, 1, 4));      // an id of 1,027
  CHECK_FALSE(reads(*bytes, 4, 10));     // a label
  CHECK_FALSE(reads(*bytes, 5, 1));      // the byte that is zero
  CHECK_FALSE(reads(*bytes, 40, 16));    // whose opinion
  CHECK_FALSE(reads(*bytes, 47, 0x41));  // of more than 1
  CHECK_FALSE(reads(*bytes, 47, 0xff));  // that is no number
}
